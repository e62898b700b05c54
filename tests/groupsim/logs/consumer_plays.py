"""Short plays of consumer groups, and the lines that a real broker logged of each.

    python -m tests.groupsim.logs.consumer_plays 4.0.1 4.4.0      plays them on real brokers of these releases again

A line is written without its layout and the names of its group; `*` stands for a hash, an id that the broker made, and
a number of milliseconds or of topics. Prints the lines that differ; exits with 1 when there are any.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping

from tests.conformance.__main__ import on_broker
from tests.conformance.cases import Case
from tests.conformance.consumer.classic import classic, rejoin, subscription
from tests.conformance.live import Live, addresses_of
from tests.conformance.player import settings_for
from tests.conformance.script import Script
from tests.conformance.scripts.consumer.conversions import classic_group
from tests.conformance.servers import VERSION, KafkaBroker

SETTINGS: Mapping[str, object] = {
    **settings_for(1, "consumer"),
    "group.consumer.session.timeout.ms": 5_000,
    "group.consumer.heartbeat.interval.ms": 1_000,
}
_LINE = re.compile(r"^\[[^]]*\] (\w+) \[GroupCoordinator id=0 topic=\S+ partition=\d+\] (.*) \(([\w.]+)\)$")
_VARIES = re.compile(
    r"(?<=hash )-?[1-9]\d*|(?<=\b)\d+(?=ms\b(?!\)))|(?<=Scanned )\d+|(?<![\w-])(?:\w-[\w-]{36}|[\w-]{22})"
)
MANAGER = "org.apache.kafka.coordinator.group.GroupMetadataManager"


async def members_come_and_go(s: Script) -> None:
    """Two members join; one of them owns what the other is waiting for when it leaves."""
    topic = await s.topic(partitions=4)
    a, b = await s.members(2)
    await a.enroll(topic)
    await b.enroll(topic)
    await b.retire()
    await a.retire()


async def an_instance_is_away(s: Script) -> None:
    """A static member leaves for a while, comes back as another member, and leaves for good."""
    topic = await s.topic(partitions=4)
    a, b = await s.member("a", instance="i"), await s.member("b", instance="i")
    await a.enroll(topic)
    await a.retire(-2)
    await b.enroll(topic)
    await b.retire()


async def a_session_ends(s: Script) -> None:
    """A member joins and sends nothing more."""
    a = await s.member()
    await a.enroll(await s.topic(partitions=2))
    await s.sleep(7_000)


async def a_revocation_takes_too_long(s: Script) -> None:
    """A member does not give up what another one needs."""
    topic = await s.topic(partitions=4)
    a, b = await s.members(2)
    await a.enroll(topic, rebalance_ms=700)
    await b.enroll(topic)
    await a.beat()
    await s.sleep(1_500)
    await b.beat()


async def a_pattern_is_resolved(s: Script) -> None:
    """A member subscribes to a regular expression."""
    await s.topic("a", partitions=2)
    await s.topic("b", partitions=2)
    member = await s.member()
    await member.enroll(names=[], regex=re.escape(s.group) + r"\.t[a-z]*")
    await s.sleep(1_500)
    await member.beat()


async def classic_members_join(s: Script) -> None:
    """Classic members ask for an id, join, join again, and are left alone by the last one of the consumer protocol."""
    topic = await s.topic(partitions=4)
    a = await s.member()
    await a.enroll(topic)
    newcomer = await s.actor("n")
    await newcomer.join(protocols={"range": subscription(topic)}, error="MEMBER_ID_REQUIRED")
    m = await classic(s, "m", topic)
    await m.sync()
    await rejoin(m, topic)
    await m.sync()
    await a.retire()


async def a_classic_group_is_upgraded(s: Script) -> None:
    """A member of the consumer protocol joins a classic group, and leaves it."""
    topic = await s.topic(partitions=4)
    m = await s.actor("m")
    await classic_group(s, {m: {topic: range(4)}}, topic)
    a = await s.member()
    await a.enroll(topic)
    await a.retire()


async def a_classic_member_takes_over(s: Script) -> None:
    """The only member is static, and a classic one takes its instance id."""
    topic = await s.topic(partitions=4)
    a = await s.member(instance="i")
    await a.enroll(topic)
    await classic(s, "m", topic, instance="i")


async def an_empty_group_changes_its_kind(s: Script) -> None:
    """A group without members is joined by a member of the other protocol, twice."""
    topic = await s.topic(partitions=4)
    a = await s.member()
    await a.enroll(topic)
    await a.retire()
    m = await s.actor("m")
    await classic_group(s, {m: {topic: range(4)}}, topic)
    await m.leave()
    await s.sleep(200)
    await a.enroll(topic)


def expected(release: str) -> Mapping[Callable[[Script], Awaitable[None]], list[str]]:
    """Return the lines of each play, as brokers of 4.0.1 and 4.4.0 log them.

    A group of 4.0 begins at epoch 1, and later ones at epoch 2.
    """
    is_first = release.startswith("4.0")
    one = 1 if is_first else 2

    def bumped(epoch: int, number: str = "*") -> str:
        return f"Bumped group epoch to {epoch}{'' if is_first else f' with metadata hash {number}'}."

    def target(epoch: int) -> str:
        return f"Computed a new target assignment for epoch {epoch} with 'uniform' assignor in *ms."

    def joins(name: str, protocol: str = "consumer") -> str:
        return f"Member {name} joins the consumer group using the {protocol} protocol."

    def round_of_the_downgrade(generation: int) -> str:
        why = "Downgrade group G from consumer to classic" + ("." if is_first else " for member leaving.")
        opens = f"Preparing to rebalance group G in state PreparingRebalance with old generation {generation}"
        return f"{opens} (reason: {why})."

    formed = [
        "Dynamic member with unknown member id joins group G in Empty state. Created a new member id * and requesting "
        "the member to rejoin with this id.",
        "Pending dynamic member with id * joins group G in Empty state. Adding to the group now.",
        "Preparing to rebalance group G in state PreparingRebalance with old generation 0 (reason: Adding new member * "
        "with group instance id null; client reason: not provided).",
        "Stabilized group G generation 1 with 1 members.",
        "Assignment received from leader * for group G for generation 1. The group has 1 members, 0 of which are "
        "static.",
    ]
    first = [joins("a"), bumped(one), target(one)]
    static = ["Static member a with instance id i joins the consumer group using the consumer protocol.", *first[1:]]
    scanned = r"Scanned * topics to refresh regular expressions [G\.t[a-z]*] in *ms."
    return {
        members_come_and_go: [
            *first,
            *(joins("b"), bumped(one + 1), target(one + 1)),
            *("Member b left the consumer group.", bumped(one + 2)),
            *("Member a left the consumer group.", bumped(one + 3, "0")),
        ],
        an_instance_is_away: [
            *static,
            "Static member a with instance id i temporarily left the consumer group.",
            "Static member with instance id i re-joins the consumer group using the consumer protocol. Created a new "
            "member b to replace the existing member a.",
            *("Static member b with instance id i left the consumer group.", bumped(one + 1, "0")),
        ],
        a_session_ends: [
            *first,
            "Member a fenced from the group because the member session expired.",
            bumped(one + 1, "0"),
        ],
        a_revocation_takes_too_long: [
            *first,
            *(joins("b"), bumped(one + 1), target(one + 1)),
            f"Member a fenced from the group because it failed to transition from epoch {one} within *ms.",
            *(bumped(one + 2), target(one + 2)),
        ],
        a_pattern_is_resolved: [
            *([*first, scanned, bumped(2), target(2)] if is_first else [joins("a"), scanned, bumped(2), target(2)]),
        ],
        classic_members_join: [
            *first,
            "Dynamic member with unknown member id joins the consumer group. Created a new member id * and requesting "
            "the member to rejoin with this id.",
            *(joins("m", "classic"), bumped(one + 1), target(one + 1)),
            joins("m", "classic"),
            "Member a left the consumer group.",
            round_of_the_downgrade(one + 1),
            "Converted the consumer group to a classic group.",
        ],
        a_classic_group_is_upgraded: [
            *formed,
            "Converted the classic group to a consumer group.",
            *(joins("a"), bumped(2), target(2)),
            "Member a left the consumer group.",
            round_of_the_downgrade(2),
            "Converted the consumer group to a classic group.",
        ],
        a_classic_member_takes_over: [
            *static,
            "Static member with instance id i re-joins the consumer group using the classic protocol. Created a new "
            "member * to replace the existing member a.",
            "Converted the consumer group to a classic group.",
        ],
        an_empty_group_changes_its_kind: [
            *first,
            *("Member a left the consumer group.", bumped(one + 1, "0")),
            "Converted the empty consumer group to a classic group.",
            *formed,
            "[Group G] Member * has left group through explicit `LeaveGroup` request; client reason: it was time",
            "Preparing to rebalance group G in state PreparingRebalance with old generation 1 (reason: explicit "
            "`LeaveGroup` request for (*) members.).",
            "Group G with generation 2 is now empty.",
            "Converted the empty classic group to a consumer group.",
            *first,
        ],
    }


CASES = [
    Case("consumer_logs", f"logs-{one.__name__.replace('_', '-')}", None, one, (), kind="consumer")
    for one in expected(VERSION)
]


def logged(case: Case, lines: Iterable[str], level_and_logger: tuple[str, str] = ("INFO", MANAGER)) -> list[str]:
    """Return the lines of a case's group, in the form of `expected`; one of another level or logger with these."""
    found = []
    for line in lines:
        read = _LINE.match(line)
        if read is None or case.id not in read[2]:
            continue
        text = read[2].removeprefix(f"[GroupId {case.id}] ").replace(re.escape(case.id), "G").replace(case.id, "G")
        shown = "" if (read[1], read[3]) == level_and_logger else f"{read[1]} {read[3]} "
        found.append(shown + _VARIES.sub("*", text))
    return found


def main() -> int:
    """Play on real brokers; 0 when each logs what is expected of its release."""
    wrong = 0
    for release in sys.argv[1:]:
        with KafkaBroker(1, SETTINGS, release=None if release == VERSION else release) as kafka:
            played = on_broker(CASES, Live(addresses_of(kafka.bootstrap)), quiet=True, at_once=3)
            lines = kafka.log().splitlines()
        for case in CASES:
            there, wanted = logged(case, lines), expected(release)[case.play]
            if played[case.id].before or played[case.id].failure or there[: len(wanted)] != wanted:
                wrong += 1
                print(f"{release} {case.id}", played[case.id].failure, *there, sep="\n    ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
