"""kill -9 of a group coordinator that writes its log to files, at random points; then what it knew is read again.

    python -m benchmarks.kill9_coordinator [--kills 1000] [--seed 0]

The writer is a coordinator's core (commits, transactions and their ends, deletions, a group that rebalances) over a log
of files, rolled and compacted on the way. After each append it says on a pipe how far the log goes and what it has
acknowledged: offsets, pending ones too, and every Stable group with its members. After the kill the log is opened and
replayed up to there into an empty coordinator, whose state must be the same, field by field; the rest of the log must
replay too, and the next writer goes on from it.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import time
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from benchmarks.kill9 import judged
from groupsim.cluster.broker.offset_batches import to_batch, to_records
from groupsim.cluster.config.log import LogConfig
from groupsim.cluster.log.files.store import FileStore
from groupsim.cluster.log.log import PartitionLog
from groupsim.coordinator.base.config import CoordinatorConfig
from groupsim.coordinator.shard import Shard
from groupsim.coordinator.testing import Bench
from groupsim.protocol.messages.group import OffsetDeleteRequest, TopicPartition

CONFIG = LogConfig(segment_bytes=20_000, cleanup_policy=("compact",), min_cleanable_dirty_ratio=0.1)


def knows(shard: Shard) -> dict[str, str]:
    """What a coordinator knows that its log must tell: each group's offsets, and itself while it is Stable, as text."""
    view = shard.partition.offsets.view
    offsets = {
        g: (sorted(view.of(g).items(), key=str), sorted(view.pending(g), key=str)) for g in sorted(view.groups())
    }
    known = {f"offsets of {group_id}": repr(held) for group_id, held in offsets.items()}
    for group in sorted(shard.groups, key=lambda group: group.group_id):
        if group.state.printed == "Stable":
            members = [
                (m.member_id, m.client_id, m.session_timeout_ms, m.rebalance_timeout_ms, m.assignment)
                for m in group.members.values()  # type: ignore[attr-defined]
            ]
            whole = (group.generation, group.protocol, group.leader, members)  # type: ignore[attr-defined]
            known[group.group_id] = repr(whole)
    return known


def opened(folder: Path) -> PartitionLog:
    """The log, as a broker that starts opens it."""
    return PartitionLog(FileStore(folder), CONFIG, now_ms=0)


def replayed(log: PartitionLog, up_to: int) -> Shard:
    """An empty coordinator that has read the log up to an offset."""
    shard = Shard(0, CoordinatorConfig(), count(1).__next__)
    batches = [batch for batch in log.batches(log.start_offset, up_to) if batch.base_offset < up_to]
    shard.load(to_records(batches, 0), 0)
    return shard


# --- the writer ------------------------------------------------------------------------------------------------------


def write(folder: Path, say: Callable[[str], object], seed: int) -> None:
    """Coordinate for ever; `say` is told after every append."""
    luck, log = random.Random(seed), opened(folder)
    bench = Bench(auto_commit=False, records=to_records(log.batches(log.start_offset, log.end_offset), 0))
    while True:
        act(bench, luck)
        while bench.in_flight:
            now_ms = bench.now_us // 1_000
            log.append([to_batch(bench.in_flight[0].records, now_ms)], 0, now_ms)
            log.advance_high_watermark(log.end_offset)
            if luck.random() < 0.1:
                log.flush()
            bench.commit(1)
            say(f"{log.end_offset} {json.dumps(knows(bench.shard))}")
        log.maintain(bench.now_us // 1_000)


def act(bench: Bench, luck: random.Random) -> None:
    """One thing that a group does."""
    group, partition, producer = f"g{luck.randrange(4)}", luck.randrange(3), luck.randrange(3)
    what = luck.random()
    if what < 0.6:
        bench.commit_offset(luck.randrange(10**6), group=group, partition=partition, metadata="m" * luck.randrange(9))
    elif what < 0.8:
        bench.commit_in_transaction(luck.randrange(10**6), producer_id=producer, group=group, partition=partition)
    elif what < 0.92:
        bench.end_transaction(luck.random() < 0.6, producer_id=producer)
    elif what < 0.95:
        bench.send(OffsetDeleteRequest(group, (TopicPartition("t", partition),)))
    elif what < 0.97 and len(bench.in_flight) == 0:
        rebalance(bench)
    bench.advance_ms(luck.randrange(200))


def rebalance(bench: Bench) -> None:
    """One more member joins the group `team`, whose members of before are gone when their sessions are over."""
    bench.join("worker", group="team")
    bench.advance_ms(4_000)
    for sent in [one for one in bench.sent[-8:] if one.answered and getattr(one.response, "leader", None)]:
        answer: Any = sent.response
        if answer.member_id == answer.leader:
            bench.sync(answer.member_id, answer.generation_id, {answer.member_id: b"all"}, group="team")


# --- the judge -------------------------------------------------------------------------------------------------------


def _judge(folder: Path, said: list[str]) -> int:
    """Judge what a killed writer left; returns the records checked. Raises AssertionError."""
    log = opened(folder)
    try:
        if said:
            end, state = said[-1].split(" ", 1)
            assert log.end_offset >= int(end), f"the log ends at {log.end_offset}, {end} was acknowledged"
            found = knows(replayed(log, int(end)))
            for what, acknowledged in json.loads(state).items():
                assert found.get(what) == acknowledged, f"{what} at {end}: {found.get(what)}, not {acknowledged}"
        replayed(log, log.end_offset)
        return len(said)
    finally:
        log.close()


kills = partial(judged, "kill9_coordinator", "__consumer_offsets-0", _judge)  #: how much each had acknowledged


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--kills", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--pipe", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.write is not None:
        write(options.write, lambda text: os.write(options.pipe, f"{text}\n".encode()), options.seed)
        return
    began, checked = time.monotonic(), list(kills(options.kills, options.seed))
    took = f"{time.monotonic() - began:.0f} s"
    print(f"{len(checked)} kills; {sum(checked):,} acknowledged appends, every state replayed the same; {took}")


if __name__ == "__main__":
    main()
