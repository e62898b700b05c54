"""The libraries that are written in Python: kafka-python of three ages, and aiokafka, which began as a copy of it.

kafka-python is a translation of the Java client of 0.9 and 0.10, and has kept what that did: no callback when a
consumer closes, none of its own for what was lost. What it does about errors was read in its source, and seen
(docs/twins.md).
"""

from __future__ import annotations

from attrs import evolve

from groupsim.members.profiles.pace import HEARTBEAT_THREAD, AsyncTask, PollOnly
from groupsim.members.profiles.profile import (
    JAVA_PARKED,
    AfterBreak,
    ClientProfile,
    RebalanceTimeout,
    SessionCheck,
    SettingName,
    defaults_of,
    versions_of,
)
from groupsim.members.profiles.reactions import AIOKAFKA as AIOKAFKA_REACTIONS
from groupsim.members.profiles.reactions import KAFKA_PYTHON, KAFKA_PYTHON_UNTIL_2_2
from groupsim.members.profiles.reactions import KAFKA_PYTHON_3 as KAFKA_PYTHON_3_REACTIONS


def _underscored(*keys: str) -> dict[str, SettingName]:
    """The Python libraries' names: Kafka's with underscores."""
    return {key.replace(".", "_"): SettingName(key) for key in keys}


_COMMON_KEYS = (
    "bootstrap.servers",
    "client.id",
    "group.id",
    "group.instance.id",
    "session.timeout.ms",
    "heartbeat.interval.ms",
    "max.poll.interval.ms",
    "max.poll.records",
    "enable.auto.commit",
    "auto.commit.interval.ms",
    "auto.offset.reset",
    "request.timeout.ms",
    "retry.backoff.ms",
    "metadata.max.age.ms",
    "partition.assignment.strategy",
    "rebalance.timeout.ms",
    "client.rack",
    "fetch.min.bytes",
    "fetch.max.bytes",
    "fetch.max.wait.ms",
    "max.partition.fetch.bytes",
    "isolation.level",
)

KAFKA_PYTHON_1_3 = ClientProfile(
    name="kafka-python-1.3",
    title="kafka-python 1.0 to 1.3: heartbeats only from poll()",
    client_id="kafka-python-1.3.5",
    defaults=defaults_of(30_000, 3_000, "range,roundrobin", request_timeout_ms=40_000),
    versions=versions_of(
        join=0, sync=0, heartbeat=0, leave=0, commit=2, fetch=1, find=0, metadata=1, data=(3, 1, None)
    ),
    subscription_version=0,
    no_user_data=b"",
    pace=PollOnly(),
    heartbeats_while_syncing=False,
    rebalance_timeout=RebalanceTimeout.UNSENT,
    enforces_poll_limit=False,
    parked={},
    shared_connection=True,
    looks_up_at_once=False,
    closes_lost_connection=False,
    restarts_when_found=True,
    commits_epochs=False,
    tells_lost=False,
    revokes_on_leaving=False,
    exponential_backoff=False,
    reactions=KAFKA_PYTHON_UNTIL_2_2,
    setting_names=_underscored(*_COMMON_KEYS),
)
# Requests of the group have a connection of their own since 1.4.7; which has to be made before it is sent to.
KAFKA_PYTHON_2 = evolve(
    KAFKA_PYTHON_1_3,
    name="kafka-python-2.x",
    title="kafka-python 1.4.7 to 2.2",
    client_id="kafka-python-2.0.2",
    defaults=defaults_of(10_000, 3_000, "range,roundrobin", request_timeout_ms=305_000),
    versions=versions_of(
        join=2, sync=1, heartbeat=1, leave=1, commit=2, fetch=1, find=0, metadata=1, data=(4, 1, None)
    ),
    pace=HEARTBEAT_THREAD,
    rebalance_timeout=RebalanceTimeout.MAX_POLL,
    enforces_poll_limit=True,
    shared_connection=False,
    connects_before_sending=True,
    after_break=AfterBreak.ASKS_AGAIN,
)
KAFKA_PYTHON_1_4 = evolve(
    KAFKA_PYTHON_2,
    name="kafka-python-1.4",
    title="kafka-python 1.4.0 to 1.4.6: group requests and fetches share a connection",
    client_id="kafka-python-1.4.6",
    shared_connection=True,
    connects_before_sending=False,
)
KAFKA_PYTHON_2_3 = evolve(
    KAFKA_PYTHON_2,
    name="kafka-python-2.3",
    title="kafka-python 2.3: static members",
    client_id="kafka-python-2.3.3",
    versions=versions_of(
        join=5, sync=3, heartbeat=3, leave=3, commit=7, fetch=5, find=2, metadata=8, data=(10, 5, None)
    ),
    after_break=AfterBreak.CONNECTS,
    joins_when_fenced=False,
    reactions=KAFKA_PYTHON,
)
# Rewritten: its connections are awaited, its callbacks are those of KIP-429, and it can cooperate.
KAFKA_PYTHON_3 = evolve(
    KAFKA_PYTHON_2_3,
    name="kafka-python-3.x",
    title="kafka-python 3.x: cooperative-sticky, callbacks as in Java",
    client_id="kafka-python-3.0.12",
    defaults=defaults_of(45_000, 3_000, "range,roundrobin", request_timeout_ms=30_000),
    versions=versions_of(
        join=7, sync=5, heartbeat=4, leave=5, commit=8, fetch=8, find=6, metadata=8, data=(10, 5, None)
    ),
    parked=JAVA_PARKED,
    connects_before_sending=False,
    asks_for_stable=False,
    keeps_positions=True,
    gives_reasons=False,
    tells_lost=True,
    revokes_on_leaving=True,
    reactions=KAFKA_PYTHON_3_REACTIONS,
)
AIOKAFKA = ClientProfile(
    name="aiokafka",
    title="aiokafka 0.7 to 0.14: rebalances while nobody polls; rebalance timeout = session timeout unless set",
    client_id="aiokafka-0.12.0",
    defaults=defaults_of(10_000, 3_000, "roundrobin", request_timeout_ms=40_000),
    versions=versions_of(
        join=5, sync=3, heartbeat=1, leave=1, commit=3, fetch=3, find=1, metadata=5, data=(4, 3, None)
    ),
    subscription_version=0,
    no_user_data=b"",
    pace=AsyncTask(),
    heartbeats_while_syncing=False,
    session_check=SessionCheck.AFTER_FAILURE,
    rebalance_timeout=RebalanceTimeout.SESSION,
    parked={},
    poll_limit_by_heartbeat=True,
    offsets_one_by_one=True,
    heartbeats_in_turn=True,
    rejoins_after_pause=True,
    looks_up_at_once=False,
    closes_lost_connection=False,
    after_break=AfterBreak.CONNECTS,
    commits_epochs=False,
    static_first=False,
    reactions=AIOKAFKA_REACTIONS,
    tells_lost=False,
    revokes_on_leaving=False,
    exponential_backoff=False,
    setting_names=_underscored(*_COMMON_KEYS),
)
