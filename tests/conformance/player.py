"""Plays scripts: one at a time on a peer, or many at once on a broker behind a socket.

What time has to do with is tried again when it fails in real time, under other names of groups and topics: a busy
machine is late now and then. Nothing else is tried again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import trio
from attrs import frozen

from tests.conformance.basics import DELAY_MS, ScriptFailed, TimingFailed
from tests.conformance.cases import Case
from tests.conformance.peers import Peer, tcp_peer
from tests.conformance.script import Script
from tests.conformance.transcript import Transcript, transcript_of

AT_ONCE = 24
TRIES = 4

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


async def play_on(case: Case, host: str, port: int) -> Played:
    """Play a case on a broker behind a socket, again when its timing failed."""
    for attempt in range(1, TRIES + 1):
        try:
            async with tcp_peer(host, port) as peer:
                played = await play(case, peer, "" if attempt == 1 else f"-try{attempt}")
        except* TimingFailed as late:
            played = Played(case, Transcript({}, {}), "; ".join(str(error) for error in late.exceptions))
        else:
            return Played(played.case, played.transcript, played.failure, attempt)
    return Played(case, played.transcript, played.failure, TRIES)


async def play_all(
    cases: Iterable[Case], host: str, port: int, told: Callable[[Played], None] = lambda played: None
) -> dict[str, Played]:
    """Play many cases at once on one broker; `told` hears of each as it ends."""
    results: dict[str, Played] = {}
    places = trio.CapacityLimiter(AT_ONCE)

    async def one(case: Case) -> None:
        async with places:
            results[case.id] = await play_on(case, host, port)
            told(results[case.id])

    async with trio.open_nursery() as nursery:
        for case in cases:
            nursery.start_soon(one, case)
    return results
