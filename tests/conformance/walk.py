"""Random walks on a real Kafka broker and on the core: every answer has to be equal.

    python -m tests.conformance.walk                         200 walks; the broker is fetched and started here
    python -m tests.conformance.walk --walks 2000 --first 1  from that seed on
    python -m tests.conformance.walk --seed 17               one of them, with all that was said
    python -m tests.conformance.walk --record 36             kept in walks.json, which `make test` plays on the core
    python -m tests.conformance.walk --consumer              walks of the consumer protocol (KIP-848)
    python -m tests.conformance.walk --expiring              the same, with sessions that end
    python -m tests.conformance.walk --mixed                 with members of both protocols, and conversions
    python -m tests.conformance.walk --mixed --release 4.2.1 on a broker of that release, and the core as it

A walk that differs is played three times more; what differs then, too, is cut down to the fewest moves that still
differ in the same way, and printed as a script to be put into `scripts/`. What does not is told as a matter of timing,
with the first line that differed. Exit code 1 when anything differs for good. See `walking.py` for what a walk is.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from itertools import count
from multiprocessing import get_context
from typing import TypeAlias

import trio
from attrs import evolve, frozen

from tests.conformance.basics import Topic
from tests.conformance.choosing import Chooser
from tests.conformance.consumer.walks import ConsumerChooser
from tests.conformance.live import RELEASE, broker_of, ended_in_order
from tests.conformance.peers import Address, tcp_peer
from tests.conformance.ready import await_ready
from tests.conformance.servers import VERSION
from tests.conformance.transcript import Transcript
from tests.conformance.walk_core import differences_on_core
from tests.conformance.walk_data import load, save
from tests.conformance.walk_script import script_of
from tests.conformance.walking import (
    CONSUMER,
    EXPIRING,
    MIXED,
    TOPICS,
    Move,
    Source,
    Walked,
    begin,
    disturbed,
    settings_of,
    the_same,
    walk,
)

AT_ONCE = 24
AGAIN = 3
ROUNDS = 12
FEW = 8
UNSWEPT = {"offsets.retention.check.interval.ms": 86_400_000}
"""A broker sweeps empty groups away every ten minutes of its own; a walk of a few seconds would meet it by chance."""
STAGGER = 0.03
"""Seconds between the beginnings of two walks, lest all make their first move at once."""
_PLAYS = count()


@frozen
class Job:
    """A walk to be played: its name, its static members, where its moves come from."""

    name: str
    statics: Mapping[str, str]
    source: Callable[[], Source]


@frozen
class Compared:
    """A walk on both, and what differs."""

    job: Job
    real: Walked
    lines: Sequence[str]


def job_of(seed: int, asked: argparse.Namespace) -> Job:
    """The walk of a seed, drawn as it goes, of the kind that is asked for."""

    def chooser() -> Chooser:
        if _is_consumer(asked):
            return ConsumerChooser(seed, classic=asked.mixed)
        return Chooser(seed, asked.drawn)

    return Job(f"{_called(asked)}-{seed}", chooser().statics, chooser)


def _is_consumer(asked: argparse.Namespace) -> bool:
    return bool(asked.consumer or asked.mixed or asked.expiring)


def _called(asked: argparse.Namespace) -> str:
    kind = MIXED if asked.mixed else EXPIRING if asked.expiring else CONSUMER if asked.consumer else "walk"
    return f"{kind}@{asked.release}" if asked.release else kind


def given(job: Job, moves: Sequence[Move]) -> Job:
    """The same walk with these moves."""
    return evolve(job, source=lambda: the_same(moves, skip_busy=True))


async def on_broker(jobs: Sequence[Job], address: Address, topics: Sequence[Topic], at_once: int) -> list[Walked]:
    """Play walks on a broker behind a socket, many at once."""
    results: dict[int, Walked] = {}
    places = trio.CapacityLimiter(at_once)

    async def one(at: int, job: Job) -> None:
        async with places:
            await trio.sleep(at % at_once * STAGGER)
            results[at] = await _on_line(job, address, topics)

    async with trio.open_nursery() as nursery:
        for at, job in enumerate(jobs):
            nursery.start_soon(one, at, job)
    return [results[at] for at in range(len(jobs))]


async def _on_line(job: Job, address: Address, topics: Sequence[Topic]) -> Walked:
    walked = Walked((), (), Transcript({}, {}), (), (), "not played")
    try:
        async with tcp_peer([address]) as peer:
            play = begin(job.name, peer, job.statics, f"-{os.getpid()}.{next(_PLAYS)}!")
            walked = await walk(play, job.source(), topics)
    except* Exception as failed:  # one walk that fails must not end all the others
        walked = evolve(walked, failure="; ".join(f"{type(error).__name__}: {error}" for error in failed.exceptions))
    return walked


def compared(name: str, statics: Mapping[str, str], real: Walked) -> list[str]:
    """Play on the core what was played on the broker; what differs."""
    return [real.failure] if real.failure else differences_on_core(name, statics, real)


Begun: TypeAlias = tuple[Job, Walked, "Future[list[str]]"]
"""A walk that was played on the broker, and what will be known once it has been played on the core."""


class Session:
    """A broker that runs, and what is played on it."""

    def __init__(self, address: str, at_once: int) -> None:
        host, _, port = address.rpartition(":")
        self._address, self._at_once = (host, int(port)), at_once
        trio.run(await_ready, [self._address])
        self._topics = trio.run(self._make_topics)
        self._core = ProcessPoolExecutor(1, get_context("spawn"))

    async def _make_topics(self) -> list[Topic]:
        async with tcp_peer([self._address]) as peer:
            return [Topic(name, await peer.create_topic(name, partitions)) for name, partitions in TOPICS.items()]

    def compare(self, jobs: Sequence[Job]) -> list[Compared]:
        """Play on the broker, then on the core; again, few at once, what differs after the machine was too busy."""
        return self.settled(self.begun(jobs, self._at_once))

    def begun(self, jobs: Sequence[Job], at_once: int) -> list[Begun]:
        """Play on the broker, and begin to play on the core, in another process."""
        walked = trio.run(on_broker, jobs, self._address, self._topics, at_once)
        return [
            (job, real, self._core.submit(compared, job.name, job.statics, real))
            for job, real in zip(jobs, walked, strict=True)
        ]

    def settled(self, begun: Sequence[Begun]) -> list[Compared]:
        """What came of it; played again, few at once, where it differs after the machine was too busy."""
        results = [Compared(job, real, lines.result()) for job, real, lines in begun]
        for _ in range(AGAIN):
            unclear = [at for at, one in enumerate(results) if one.lines and disturbed(one.real)]
            again = self.begun([results[at].job for at in unclear], min(FEW, self._at_once))
            for at, (job, real, lines) in zip(unclear, again, strict=True):
                results[at] = Compared(job, real, lines.result())
        return results

    def confirm(self, one: Compared) -> Compared | None:
        """The first of three further plays that differs, if two of them do."""
        again = self.compare([given(one.job, one.real.moves)] * AGAIN)
        differ = [other for other in again if other.lines and not disturbed(other.real)]
        return differ[0] if len(differ) > 1 else None

    def shrink(self, one: Compared) -> Compared:
        """The fewest moves that differ in the same way, as far as leaving out finds them."""
        sign, size = signature(one.lines[0]), max(1, len(one.real.moves) // 2)
        for _ in range(ROUNDS):
            shorter = next(
                (other for other in self._without(one, size) if other.lines and signature(other.lines[0]) == sign), None
            )
            if shorter is not None:
                one = shorter
            elif size == 1:
                return one
            else:
                size //= 2
            size = min(size, max(1, len(one.real.moves) // 2))
        return one

    def _without(self, one: Compared, size: int) -> list[Compared]:
        moves = list(one.real.moves)
        starts = range(0, len(moves), size)
        return self.compare([given(one.job, moves[:at] + moves[at + size :]) for at in starts])


def signature(line: str) -> str:
    """What differs, without who, which number, and which values of lists."""
    what = line.partition(": ")[2]
    return re.sub(r"\$[?\w]+|\d+|\[.*?\](?= there| here|;|$)", "#", what)[:200]


def tell(kind: str, one: Compared) -> None:
    """A line for a walk that differs."""
    print(f"{kind}  {one.job.name}: {one.lines[0][:400]}", flush=True)


def examine(session: Session, different: Iterable[Compared]) -> Counter[str]:
    """Play again what differed; print what differs for good as a script, each kind of difference once."""
    seen: Counter[str] = Counter()
    for one in different:
        sure = session.confirm(one)
        if sure is None:
            tell("TIMING ", one)
            seen["timing"] += 1
            continue
        seen[sign := signature(sure.lines[0])] += 1
        tell("DIFFERS", sure)
        if seen[sign] == 1:
            small = session.shrink(sure)
            print("\n".join(f"    {line[:600]}" for line in small.lines[:4]))
            print(script_of(small.job.statics, small.real), flush=True)
    return seen


def told_only(different: Iterable[Compared]) -> Counter[str]:
    """Print what differs, as it was played once."""
    seen: Counter[str] = Counter()
    for one in different:
        tell("DIFFERS", one)
        seen[signature(one.lines[0])] += 1
    return seen


def batches(asked: argparse.Namespace) -> Iterable[list[Job]]:
    """The walks that are asked for, two at a time for each place on the broker."""
    seeds = [asked.seed] if asked.seed is not None else list(range(asked.first, asked.first + asked.walks))
    size = 2 * asked.at_once
    for at in range(0, len(seeds), size):
        yield [job_of(seed, asked) for seed in seeds[at : at + size]]


def results_of(session: Session, asked: argparse.Namespace) -> Iterator[list[Compared]]:
    """Batch by batch what came of it: one is played on the broker while the one before is played on the core."""
    before: list[Begun] = []
    for jobs in batches(asked):
        begun = session.begun(jobs, asked.at_once)
        if before:
            yield session.settled(before)
        before = begun
    yield session.settled(before)


def run(session: Session, asked: argparse.Namespace) -> int:
    """Play, compare, examine; 0 when nothing differs for good."""
    walks = requests = 0
    seen: Counter[str] = Counter()
    for results in results_of(session, asked):
        walks += len(results)
        requests += sum(len(one.real.order) for one in results)
        different = [one for one in results if one.lines]
        print(f"{walks} walks, {requests} requests, {len(different)} of the last {len(results)} differ", flush=True)
        seen += told_only(different) if asked.tell else examine(session, different)
    kinds = len(seen) - ("timing" in seen)
    print(f"{walks} walks, {requests} requests; {kinds} kinds of differences, {seen['timing']} walks of timing")
    return 1 if kinds else 0


def record(session: Session, asked: argparse.Namespace) -> int:
    """Keep the first so many walks that are the same on both; beside those kept unless they are plain classic ones."""
    same = [
        one for one in session.compare([job_of(asked.first + at, asked) for at in range(asked.record)]) if not one.lines
    ]
    kept = load() if asked.drawn or _is_consumer(asked) else {}
    save(VERSION, kept | {one.job.name: (one.job.statics, one.real) for one in same})
    print(f"{len(same)} walks recorded, {asked.record - len(same)} left out: they differ")
    return 0


def main() -> int:
    """Walk; 0 when nothing differs for good."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.conformance.walk",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--walks", type=int, default=200)
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--seed", type=int, help="this one only")
    parser.add_argument("--at-once", type=int, default=AT_ONCE)
    parser.add_argument("--drawn", type=float, default=0.0, help="how many requests are drawn field by field, 0 to 1")
    parser.add_argument("--consumer", action="store_true", help="walks of the consumer protocol")
    parser.add_argument("--expiring", action="store_true", help="the same, with sessions of 1.1 s")
    parser.add_argument("--mixed", action="store_true", help="walks of groups with members of both protocols")
    parser.add_argument("--release", default="", help="of brokers before the newest, such as 4.0.1; needs Maven")
    parser.add_argument("--tell", action="store_true", help="tell what differs, and do not play it again")
    parser.add_argument("--record", type=int, help="keep so many walks")
    parser.add_argument("--broker", help="host:port of a fresh broker that runs already, with the same settings")
    asked = parser.parse_args()
    ended_in_order()
    do = record if asked.record else run
    if asked.broker:
        return do(Session(asked.broker, asked.at_once), asked)
    own = {name: value for name, value in settings_of(_called(asked)).items() if name != RELEASE}
    with broker_of(asked.release or None, {**own, **UNSWEPT}) as broker:
        return do(Session(broker.bootstrap, asked.at_once), asked)


if __name__ == "__main__":
    sys.exit(main())
