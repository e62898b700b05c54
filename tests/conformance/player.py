"""Plays scripts: one at a time on a peer, or many at once on a broker behind a socket.

In real time a play that failed is tried again, under other names of groups and topics: on a busy machine a session ends
too soon now and then, or a member comes too late for a round. What is wrong is wrong each time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import count

import trio
from attrs import evolve, frozen

from tests.conformance.basics import COMMIT_MS, DELAY_MS, SCALA, ScriptFailed, TimingFailed
from tests.conformance.cases import Case
from tests.conformance.consumer.kinds import CONSUMER
from tests.conformance.consumer.kinds import KINDS as CONSUMER_KINDS
from tests.conformance.nodes import Hands, Nodes
from tests.conformance.peers import Address, Peer, tcp_peer
from tests.conformance.script import MANY_PARTITIONS, OFFSETS_PARTITIONS, Script
from tests.conformance.transcript import Transcript, transcript_of

AT_ONCE = 24
CONSUMERS_AT_ONCE = 8
"""Scripts of the consumer protocol that are played at once: sessions and revocations of a second end in many."""
TRIES = 4
_PLAYS = count()  # no two plays on one broker have the same names

SETTINGS: dict[str, object] = {
    "group.initial.rebalance.delay.ms": DELAY_MS,
    "group.min.session.timeout.ms": 100,
    "group.max.session.timeout.ms": 60_000,
    "group.max.size": 4,
    "offsets.topic.num.partitions": OFFSETS_PARTITIONS,
    "transaction.state.log.num.partitions": 4,
    "auto.create.topics.enable": "false",
}
"""What every peer is started with, by Kafka's names: short delays, small groups."""

OF_SEVERAL: dict[str, object] = SETTINGS | {
    "offsets.commit.timeout.ms": COMMIT_MS,
    "auto.leader.rebalance.enable": "false",
}
"""What clusters of three are started with: what is not replicated is told soon, and leaders stay where they are."""


OF_SCALA: dict[str, object] = OF_SEVERAL | {"broker.version": SCALA}
"""What clusters of three are started with whose coordinator is the one in Scala."""


AUTHORIZED: dict[str, object] = SETTINGS | {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
}
"""What a peer with an authorizer is started with."""

GUARDED: dict[str, object] = AUTHORIZED | {"auto.create.topics.enable": "true"}
"""The same for scripts that make ACLs for everything (`tests.conformance.acls`), and topics by asking for them."""


FORGETFUL: dict[str, object] = {name: value for name, value in SETTINGS.items() if name != "group.max.size"} | {
    "group.initial.rebalance.delay.ms": 0,
    "offsets.retention.minutes": 1,
    "offsets.retention.check.interval.ms": 100,
}
"""What a peer is started with that looks for expired offsets all the time; no delay, and no limit to a group's size."""

PATIENT: dict[str, object] = SETTINGS | {"group.initial.rebalance.delay.ms": 400_000}
"""An initial delay that a new member's five minutes end before it is over."""

ALONE: dict[str, object] = SETTINGS | {"offsets.topic.num.partitions": MANY_PARTITIONS, "offsets.load.buffer.size": 16}
"""As many partitions as Kafka's default, and logs that are read in small pieces."""

KINDS = {
    "": SETTINGS,
    "forgetful": FORGETFUL,
    "patient": PATIENT,
    "alone": ALONE,
    "authorized": AUTHORIZED,
    "guarded": GUARDED,
    **{kind: SETTINGS | CONSUMER | own for kind, own in CONSUMER_KINDS.items()},
    "consumer-guarded": GUARDED | CONSUMER,
    "consumer-alone": ALONE | CONSUMER,
}
"""The kinds of peers of one node."""

SEVERAL = {"": OF_SEVERAL, "scala": OF_SCALA, "consumer": OF_SEVERAL | CONSUMER}
"""The kinds of peers of three nodes."""


def settings_for(nodes: int, kind: str = "") -> dict[str, object]:
    """What a peer of so many nodes is started with. Raises KeyError for a kind that is none."""
    return (KINDS if nodes == 1 else SEVERAL)[kind]


SHORT_OF = 2  # the node that is stopped where a script has one node too few


@frozen
class Played:
    """How a play went: its transcript, what failed in it, if anything did, and what had failed in tries before it."""

    case: Case
    transcript: Transcript
    failure: str | None = None
    before: tuple[str, ...] = ()


async def play(case: Case, peer: Peer, nonce: str = "", nodes: Nodes | None = None) -> Played:
    """Play a case; what fails is told, not raised. Raises TimingFailed."""
    hands = None if nodes is None else Hands(peer, nodes)
    script = Script(case, peer, nonce, hands)
    try:
        if hands is not None:
            await hands.whole(without=SHORT_OF if case.short else None)
            await script.settle_at_coordinator()
        await case.play(script)
    except TimingFailed:
        raise
    except ScriptFailed as failed:
        return Played(case, transcript_of(script), str(failed))
    except Exception as failed:  # a script that is wrong must not end all the others
        return Played(case, transcript_of(script), f"{case.id}: {type(failed).__name__}: {failed}")
    return Played(case, transcript_of(script))


async def play_on(case: Case, addresses: Sequence[Address], nonce: str = "", nodes: Nodes | None = None) -> Played:
    """Play a case on brokers behind sockets, again when it failed; `nonce` tells its names from an earlier play's."""
    failures: list[str] = []
    for attempt in range(1, TRIES + 1):
        try:
            async with tcp_peer(addresses) as peer:
                again = f"{nonce}-try{attempt}-{next(_PLAYS)}"
                played = await play(case, peer, nonce if attempt == 1 else again, nodes)
        except* TimingFailed as late:
            played = Played(case, Transcript({}, {}), "; ".join(str(error) for error in late.exceptions))
        played = evolve(played, before=tuple(failures))
        if played.failure is None:
            break
        failures.append(played.failure)
    return played


async def play_all(
    cases: Iterable[Case],
    addresses: Sequence[Address],
    told: Callable[[Played], None] = lambda played: None,
    at_once: int = AT_ONCE,
    nonce: str = "",
    nodes: Nodes | None = None,
) -> dict[str, Played]:
    """Play many cases at once on one broker, one after the other on several; `told` hears of each as it ends."""
    results: dict[str, Played] = {}
    cases = list(cases)
    most = CONSUMERS_AT_ONCE if cases and cases[0].kind in CONSUMER_KINDS else AT_ONCE
    places = trio.CapacityLimiter(min(at_once, most) if nodes is None else 1)

    async def one(case: Case) -> None:
        async with places:
            results[case.id] = await play_on(case, addresses, nonce, nodes)
            told(results[case.id])

    if nodes is not None:
        for case in sorted(cases, key=lambda case: case.short):
            await one(case)
        return results
    async with trio.open_nursery() as nursery:
        for case in cases:
            nursery.start_soon(one, case)
    return results
