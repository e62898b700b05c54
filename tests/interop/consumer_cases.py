"""The stories of groups of the consumer protocol (KIP-848), where brokers assign: `group.protocol=consumer`.

Most are those of classic groups with an assignor of the brokers in place of the client's. The session of a member is
the brokers' setting (`peers.SETTINGS`), and no member has one of its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from functools import partial

from confluent_kafka.admin import NewPartitions

from tests.interop import cases
from tests.interop.bench import PARTITIONS, Bench, records, until
from tests.interop.cases import Case
from tests.interop.members import Member
from tests.interop.peers import SETTINGS

UNIFORM, RANGE = "server:uniform", "server:range"
SESSION_S = int(str(SETTINGS["group.consumer.session.timeout.ms"])) / 1_000


def with_brokers_assignor(play: Callable[[Bench], None], bench: Bench) -> None:
    """A story of members of the consumer protocol. A client that went back to the classic protocol fails it."""
    bench.assignor = UNIFORM
    play(bench)
    assert bench.kind() == "CONSUMER", f"the group's kind is {bench.kind()}"


def one_leaves(bench: Bench) -> None:
    """Two members share and read; the one that closes leaves at once, and the other has everything."""
    topic = bench.topic()
    first, second = bench.consumer(topic), bench.consumer(topic)
    bench.stable(topic, [first, second])
    sent = bench.producer().send(topic, records(60))
    bench.all_read(sent, [first, second])
    gone, ends = first.owned, cases.ends_of(sent)
    first.close()
    closed = time.monotonic()
    bench.stable(topic, [second])
    assert time.monotonic() - closed < SESSION_S, "the partitions of the member that closed waited for its session"
    assert bench.committed(topic) == {place: end for place, end in ends.items() if place in gone}


def reads_partitions_that_are_added(bench: Bench) -> None:
    """A topic grows while two members read it: brokers assign the new partitions, and their records are read."""
    topic, more = bench.topic(), PARTITIONS + 4
    members = [bench.consumer(topic), bench.consumer(topic)]
    bench.stable(topic, members)
    for future in bench.admin.create_partitions([NewPartitions(topic, more)]).values():
        future.result()
    bench.stable(topic, members, more)
    sent = bench.producer().send(topic, records(30), partition=more - 1)
    bench.all_read(sent, members)


def reads_topics_of_a_pattern(bench: Bench) -> None:
    """Two members subscribe to a regular expression: brokers give them the topics that match, later ones too."""
    topics, other = [bench.topic(2), bench.topic(2)], "other"
    pattern = f"^{topics[0].rpartition('-')[0]}-.*"
    members = [bench.consumer(other, pattern=pattern) for _ in range(2)]
    until(lambda: _shared(members, topics), "the topics that match are shared", bench.told)
    topics.append(bench.topic(2))
    until(lambda: _shared(members, topics), "a topic that was made later is shared too", bench.told)
    producer = bench.producer()
    for topic in topics:
        bench.all_read(producer.send(topic, records(30)), members)


def _shared(members: Collection[Member], topics: Collection[str]) -> bool:
    """Whether each of two partitions of every topic has one owner, and every member has some."""
    owned = [place for member in members for place in member.owned]
    wanted = [(topic, number) for topic in topics for number in range(2)]
    return sorted(owned) == sorted(wanted) and all(member.owned for member in members)


_STORIES: tuple[tuple[str, str, Callable[[Bench], None]], ...] = (
    ("group", "forms a group", cases.forms_a_group),
    ("leave-one", "two share, one leaves", one_leaves),
    ("uniform", "rebalances, uniform", partial(cases.rebalances_cooperatively, UNIFORM)),
    ("range", "rebalances, range", partial(cases.rebalances_evenly, RANGE)),
    ("static", "a static member bounces", cases.keeps_static_members),
    ("commit", "a new member continues at the commit", cases.continues_where_it_committed),
    ("move", "survives a coordinator move", cases.survives_a_coordinator_move),
    ("kill", "survives a killed member", cases.survives_a_killed_member),
    ("pause", "survives a pause longer than its session", cases.survives_a_pause),
    ("leave", "leaves: Empty, offsets kept", cases.leaves),
    ("grow", "a topic grows", reads_partitions_that_are_added),
    ("pattern", "a regular expression of topics", reads_topics_of_a_pattern),
)
CONSUMER_CASES = tuple(
    Case(f"848-{name}", f"group.protocol=consumer: {says}", partial(with_brokers_assignor, play), name == "leave-one")
    for name, says, play in _STORIES
)
"""The rows of the table, in order; one is in the short form."""
