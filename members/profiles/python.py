"""Libraries in Python: kafka-python of several ages, and aiokafka, which began as a copy of it.

kafka-python is a translation of the Java client of 0.9 and 0.10, and has kept its behaviour: no callback on close, none
for lost partitions (KIP-429). Its source, and the library itself, show its reactions to errors (docs/twins.md).

A row: the base profile (empty: the newest Java consumer), its title, and the differences.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from groupsim.members.profiles.pace import HEARTBEAT_THREAD, PollOnly, TaskWithHeartbeats
from groupsim.members.profiles.profile import JAVA_PARKED, ProfileRow, RebalanceTimeout, SettingName, defaults_of
from groupsim.members.profiles.reactions import AIOKAFKA, KAFKA_PYTHON, KAFKA_PYTHON_3, KAFKA_PYTHON_UNTIL_2_2
from groupsim.members.profiles.row_types import AfterBreak, SessionCheck

# fmt: off
_KEYS = (
    "bootstrap.servers", "client.id", "group.id", "group.instance.id", "session.timeout.ms", "heartbeat.interval.ms",
    "max.poll.interval.ms", "max.poll.records", "enable.auto.commit", "auto.commit.interval.ms", "auto.offset.reset",
    "request.timeout.ms", "retry.backoff.ms", "metadata.max.age.ms", "partition.assignment.strategy",
    "rebalance.timeout.ms", "client.rack", "fetch.min.bytes", "fetch.max.bytes", "fetch.max.wait.ms",
    "max.partition.fetch.bytes", "isolation.level",
)
# fmt: on
#: Names of settings in the Python libraries: Kafka's with underscores.
_UNDERSCORED = {key.replace(".", "_"): SettingName(key) for key in _KEYS}

ROWS: Final[Mapping[str, ProfileRow]] = {
    "kafka-python-1.3": (
        "",
        "kafka-python 1.0 to 1.3: heartbeats only from poll()",
        {
            "client_id": "kafka-python-1.3.5",
            "defaults": defaults_of(
                "session.timeout.ms=30_000 heartbeat.interval.ms=3_000 "
                "partition.assignment.strategy=range,roundrobin request.timeout.ms=40_000"
            ),
            "subscription": {"version": 0, "no_user_data": b""},
            "pace": PollOnly(),
            "heartbeats": {"while_syncing": False, "restart_when_found": True},
            "rebalance_timeout": RebalanceTimeout.UNSENT,
            "poll_limit": {"enforced": False},
            "parked": {},
            "coordinator": {"shared_connection": True, "looks_up_at_once": False, "closes_lost": False},
            "commits": {"epochs": False},
            "callbacks": {"lost": False, "on_leaving": False},
            "retries": {"exponential": False},
            "reactions": KAFKA_PYTHON_UNTIL_2_2,
            "setting_names": _UNDERSCORED,
        },
    ),
    "kafka-python-1.4": (
        "kafka-python-2.x",
        "kafka-python 1.4.0 to 1.4.6: group requests and fetches share a connection",
        {"client_id": "kafka-python-1.4.6", "coordinator": {"shared_connection": True, "connects_first": False}},
    ),
    # Since 1.4.7 group requests have their own connection, which must be made before a request is sent
    # (dpkp/kafka-python#1822).
    "kafka-python-2.x": (
        "kafka-python-1.3",
        "kafka-python 1.4.7 to 2.2",
        {
            "client_id": "kafka-python-2.0.2",
            "defaults": defaults_of(
                "session.timeout.ms=10_000 heartbeat.interval.ms=3_000 "
                "partition.assignment.strategy=range,roundrobin request.timeout.ms=305_000"
            ),
            "pace": HEARTBEAT_THREAD,
            "rebalance_timeout": RebalanceTimeout.MAX_POLL,
            "poll_limit": {"enforced": True},
            "coordinator": {
                "shared_connection": False,
                "connects_first": True,
                "after_break": AfterBreak.ASKS_AGAIN,
            },
        },
    ),
    "kafka-python-2.3": (
        "kafka-python-2.x",
        "kafka-python 2.3: static members",
        {
            "client_id": "kafka-python-2.3.3",
            "coordinator": {"after_break": AfterBreak.CONNECTS},
            "heartbeats": {"joins_when_fenced": False},
            "reactions": KAFKA_PYTHON,
        },
    ),
    # A rewrite: it awaits its connections, has the callbacks of KIP-429, and can cooperate.
    "kafka-python-3.x": (
        "kafka-python-2.3",
        "kafka-python 3.x: cooperative-sticky, callbacks as in Java",
        {
            "client_id": "kafka-python-3.0.12",
            "defaults": defaults_of(
                "session.timeout.ms=45_000 heartbeat.interval.ms=3_000 "
                "partition.assignment.strategy=range,roundrobin request.timeout.ms=30_000"
            ),
            "parked": JAVA_PARKED,
            "coordinator": {"connects_first": False},
            "positions": {"stable": False, "kept": True},
            "leaving": {"with_reason": False},
            "callbacks": {"lost": True, "on_leaving": True},
            "reactions": KAFKA_PYTHON_3,
        },
    ),
    "aiokafka": (
        "",
        "aiokafka 0.7 to 0.14: rebalances without poll; rebalance timeout = session timeout unless set",
        {
            "client_id": "aiokafka-0.12.0",
            "defaults": defaults_of(
                "session.timeout.ms=10_000 heartbeat.interval.ms=3_000 partition.assignment.strategy=roundrobin "
                "request.timeout.ms=40_000"
            ),
            "subscription": {"version": 0, "no_user_data": b""},
            "pace": TaskWithHeartbeats(),
            "heartbeats": {"while_syncing": False, "session_check": SessionCheck.AFTER_FAILURE},
            "rebalance_timeout": RebalanceTimeout.SESSION,
            "parked": {},
            "positions": {"one_by_one": True},
            "coordinator": {
                "looks_up_at_once": False,
                "closes_lost": False,
                "after_break": AfterBreak.CONNECTS,
            },
            "commits": {"epochs": False},
            "leader": {"static_first": False},
            "callbacks": {"lost": False, "on_leaving": False},
            "retries": {"exponential": False},
            "reactions": AIOKAFKA,
            "setting_names": _UNDERSCORED,
        },
    ),
}
