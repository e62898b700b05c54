"""Plays scripts: one at a time on a peer, or many at once on a broker behind a socket.

In real time a play that failed is tried again, under other names of groups and topics: on a busy machine a session ends
too soon now and then, or a member comes too late for a round. What is wrong is wrong each time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import count

import trio
from attrs import evolve, frozen

from tests.conformance.basics import DELAY_MS, ScriptFailed, TimingFailed
from tests.conformance.cases import Case
from tests.conformance.peers import Peer, tcp_peer
from tests.conformance.script import Script
from tests.conformance.transcript import Transcript, transcript_of

AT_ONCE = 24
TRIES = 4
_PLAYS = count()  # no two plays on one broker have the same names

SETTINGS: dict[str, object] = {
    "group.initial.rebalance.delay.ms": DELAY_MS,
    "group.min.session.timeout.ms": 100,
    "group.max.session.timeout.ms": 60_000,
    "group.max.size": 4,
    "offsets.topic.num.partitions": 4,
    "transaction.state.log.num.partitions": 4,
    "auto.create.topics.enable": "false",
}
"""What every peer is started with, by Kafka's names: short delays, small groups."""


@frozen
class Played:
    """How a play went: its transcript, and what failed in it, if anything did."""

    case: Case
    transcript: Transcript
    failure: str | None = None
    tries: int = 1


async def play(case: Case, peer: Peer, nonce: str = "") -> Played:
    """Play a case; what fails is told, not raised. Raises TimingFailed."""
    script = Script(case, peer, nonce)
    try:
        await case.play(script)
    except TimingFailed:
        raise
    except ScriptFailed as failed:
        return Played(case, transcript_of(script), str(failed))
    except Exception as failed:  # a script that is wrong must not end all the others
        return Played(case, transcript_of(script), f"{case.id}: {type(failed).__name__}: {failed}")
    return Played(case, transcript_of(script))


async def play_on(case: Case, host: str, port: int, nonce: str = "") -> Played:
    """Play a case on a broker behind a socket, again when it failed; `nonce` tells its names from an earlier play's."""
    for attempt in range(1, TRIES + 1):
        try:
            async with tcp_peer(host, port) as peer:
                played = await play(case, peer, nonce if attempt == 1 else f"{nonce}-try{attempt}-{next(_PLAYS)}")
        except* TimingFailed as late:
            played = Played(case, Transcript({}, {}), "; ".join(str(error) for error in late.exceptions))
        played = evolve(played, tries=attempt)
        if played.failure is None:
            break
    return played


async def play_all(
    cases: Iterable[Case],
    host: str,
    port: int,
    told: Callable[[Played], None] = lambda played: None,
    at_once: int = AT_ONCE,
    nonce: str = "",
) -> dict[str, Played]:
    """Play many cases at once on one broker; `told` hears of each as it ends."""
    results: dict[str, Played] = {}
    places = trio.CapacityLimiter(at_once)

    async def one(case: Case) -> None:
        async with places:
            results[case.id] = await play_on(case, host, port, nonce)
            told(results[case.id])

    async with trio.open_nursery() as nursery:
        for case in cases:
            nursery.start_soon(one, case)
    return results
