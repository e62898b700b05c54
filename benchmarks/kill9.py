"""kill -9 of a process that writes a log, at random points; and torn writes, as a power cut leaves them.

    python -m benchmarks.kill9 [--kills 1000] [--torn 2000] [--seed 0]

The writer appends batches, flushes now and then, rolls, replaces and truncates, and says on a pipe what it has appended
and flushed, *after* it was done. It is killed after a random time. What must hold when the log is opened again:
everything that was said to be appended is there, byte for byte (a killed process loses nothing that the operating
system has), the log is a row of whole batches without a gap, the indexes lead to every one of them, and it goes on.

A torn write cuts the file at a random byte, puts zeros or garbage behind it, or flips a bit: everything that was
flushed must be there, what was torn must be cut. (The format's checksum leaves out a batch's base offset and leader
epoch: a bit that flips there is not noticed, by Kafka neither. No bit flips there.)
"""

from __future__ import annotations

import argparse
import os
import random
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TypeVar

from groupsim.cluster.log.files.segment import FileSegment
from groupsim.cluster.log.files.store import FileStore
from groupsim.protocol.batch.batch import Batch, LogRecord
from groupsim.protocol.batch.codec import CHECKED_FROM, encode, read_batches
from groupsim.protocol.batch.sizes import batch_of

Judgement = TypeVar("Judgement")
SEGMENT_BYTES = 60_000


def batch_at(offset: int) -> Batch:
    """The batch that belongs at an offset: everything in it follows from the offset."""
    count = 1 + offset % 7
    records = tuple(
        LogRecord(index, b"key-%d" % ((offset + index) % 50), b"%d " % (offset + index) * (1 + offset % 40))
        for index in range(count)
    )
    return batch_of(records, 1_000 + offset, base_offset=offset, leader_epoch=3)


# --- the writer -------------------------------------------------------------------------------------------------------


def write(folder: Path, say: Callable[[str, int], object], seed: int) -> None:
    """Append for ever. `say` is told what is done: appended or flushed up to an offset, begun to truncate to one."""
    luck = random.Random(seed)
    store = FileStore(folder)
    if not store.segments:
        store.create(0, 0)
    active = store.segments[-1]
    while True:
        if active.size > SEGMENT_BYTES:
            active.flush()
            active = store.create(active.next_offset, 0)
            say("flushed", active.base_offset)
        active.append(batch_at(active.next_offset))
        say("appended", active.next_offset)
        what = luck.random()
        if what < 0.02:
            active.flush()
            say("flushed", active.next_offset)
        elif what < 0.022 and len(store.segments) > 3:
            first, second = store.segments[:2]
            store.replace([first, second], [*first.batches(), *second.batches()])
        elif what < 0.025:
            target = max(active.next_offset - luck.randrange(300), active.base_offset)
            say("truncating", target)
            active.truncate(target)
            say("truncated", active.next_offset)


# --- the judge --------------------------------------------------------------------------------------------------------


class Told:
    """What the writer said, as far as it got: below `appended` all must be there."""

    def __init__(self) -> None:
        self.appended = self.flushed = 0

    def hear(self, word: str, offset: int) -> None:
        if word == "appended":
            self.appended = offset
        elif word == "flushed":
            self.flushed = max(self.flushed, offset)
        elif word == "truncating":  # it may end before its batches are gone, and a batch may hold the offset
            self.appended = min(self.appended, offset - 8)
            self.flushed = min(self.flushed, offset - 8)


def check(folder: Path, at_least: int) -> tuple[int, list[str]]:
    """Open the log and judge it; returns its end and what recovery did. Raises AssertionError."""
    store = FileStore(folder)
    expected = 0
    for segment in store.segments:
        assert isinstance(segment, FileSegment)
        for batch in segment.batches():
            assert batch.base_offset == expected, f"{batch.base_offset} where {expected} belongs"
            assert encode(batch) == encode(batch_at(expected)), f"another batch at {expected}"
            expected = batch.next_offset
        for offset, position in segment.offset_index.entries():
            found = next(segment.batches(offset))
            assert found.last_offset == offset, f"the index leads from {offset} to {found.last_offset}"
            assert segment.position(found.base_offset) == position, f"offset {offset} is not at {position}"
        for timestamp_ms, offset in segment.time_index.entries():
            assert next(segment.batches(offset)).max_timestamp_ms == timestamp_ms, f"no record at {timestamp_ms}"
    assert expected >= at_least, f"the log ends at {expected}, {at_least} were promised"
    left = [path.name for path in folder.iterdir() if path.suffix in (".cleaned", ".swap", ".deleted", ".tmp")]
    assert not [name for name in left if not name.endswith(".tmp")], left
    active = store.segments[-1]
    active.append(batch_at(expected))
    assert next(active.batches(expected)).base_offset == expected
    repairs = [str(repair) for repair in store.repairs]
    active.truncate(expected)
    store.close()
    return expected, repairs


def _judge(folder: Path, said: list[str]) -> tuple[int, list[str]]:
    told = Told()
    for line in said:
        word, offset = line.split()
        told.hear(word, int(offset))
    return check(folder, told.appended)


def said_until_killed(module: str, folder: Path, seed: int, longest_s: float) -> list[str]:
    """Start a writer of this module and kill it after a random time: the lines it said."""
    luck = random.Random(seed)
    reader, writer = os.pipe()
    command = [sys.executable, "-m", f"benchmarks.{module}", "--write", str(folder), "--pipe", str(writer)]
    root = Path(__file__).resolve().parent.parent
    process = subprocess.Popen([*command, "--seed", str(seed)], pass_fds=[writer], cwd=root)
    os.close(writer)
    return listen(reader, process, luck.random() * longest_s).decode().split("\n")[:-1]


def listen(reader: int, process: subprocess.Popen[bytes], seconds: float) -> bytes:
    """Everything that the writer says until it is killed, so many seconds after its first word."""
    with os.fdopen(reader, "rb", buffering=0) as pipe:
        heard = pipe.read(65_536)
        ends = time.monotonic() + seconds
        while (left := ends - time.monotonic()) > 0:
            if select.select([pipe], [], [], left)[0]:
                heard += pipe.read(65_536)
        process.send_signal(signal.SIGKILL)
        if process.wait() != -signal.SIGKILL:
            raise RuntimeError(f"the writer ended by itself with {process.returncode}")
        while more := pipe.read(65_536):
            heard += more
    return heard


def judged(
    module: str,
    log: str,
    judge: Callable[[Path, list[str]], Judgement],
    number: int,
    seed: int,
    *,
    longest_s: float = 0.1,
    restart_every: int = 40,
) -> Iterator[Judgement]:
    """So many kills of a module's writer; the log goes on from one to the next and begins anew now and then."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / log
        for round_ in range(number):
            if round_ % restart_every == 0:
                shutil.rmtree(folder, ignore_errors=True)
            yield judge(folder, said_until_killed(module, folder, seed * 1_000_003 + round_, longest_s))


kills = partial(judged, "kill9", "orders-0", _judge)  #: ends of the log, and what was repaired


# --- torn writes ------------------------------------------------------------------------------------------------------


def torn(number: int, seed: int) -> Iterator[str]:
    """So many logs whose last writes did not all reach the disk."""
    luck = random.Random(seed)
    with tempfile.TemporaryDirectory() as scratch:
        for round_ in range(number):
            folder = Path(scratch) / f"log-{round_}"
            store = FileStore(folder, sync=False)
            segment = store.create(0, 0)
            for _ in range(luck.randrange(1, 60)):
                segment.append(batch_at(segment.next_offset))
            segment.flush()
            flushed, safe = segment.next_offset, segment.size
            for _ in range(luck.randrange(1, 60)):
                segment.append(batch_at(segment.next_offset))
            kind = tear(folder / "00000000000000000000.log", safe, segment.size, luck)
            tear_index(folder / "00000000000000000000.index", luck)
            check(folder, flushed)
            shutil.rmtree(folder)
            yield kind


def tear(path: Path, safe: int, size: int, luck: random.Random) -> str:
    """What a power cut does to the part of a file that was not flushed."""
    at = luck.randrange(safe, size + 1)
    data = bytearray(path.read_bytes())
    kind = luck.choice(("cut", "zeros", "garbage", "flipped bit", "hole"))
    if kind == "cut":
        del data[at:]
    elif kind == "zeros":
        data[at:] = bytes(luck.randrange(1, 5_000))
    elif kind == "garbage":
        data[at:] = luck.randbytes(luck.randrange(1, 5_000))
    elif kind == "hole":
        data[at : at + 512] = bytes(len(data[at : at + 512]))
    elif at < size:
        data[place(data, at)] ^= 1 << luck.randrange(8)
    path.write_bytes(data)
    return kind


def place(data: bytearray, at: int) -> int:
    """The byte at a position, or where that is an offset or an epoch, the first that the checksum covers."""
    begin = 0
    for batch in read_batches(bytes(data)):
        if at < begin + batch.size:
            inside = at - begin
            return begin + (CHECKED_FROM if inside < 8 or 12 <= inside < 16 else inside)
        begin += batch.size
    return at


def tear_index(path: Path, luck: random.Random) -> None:
    """An index may have lost anything."""
    path.write_bytes(luck.choice((b"", luck.randbytes(luck.randrange(100)), bytes(80))))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--kills", type=int, default=1_000)
    parser.add_argument("--torn", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--pipe", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.write is not None:
        write(options.write, lambda word, offset: os.write(options.pipe, f"{word} {offset}\n".encode()), options.seed)
        return
    began = time.monotonic()
    ends, repairs = [], 0
    for end, done in kills(options.kills, options.seed):
        ends.append(end)
        repairs += bool(done)
    took = f"{time.monotonic() - began:.0f} s"
    print(f"{len(ends)} kills, {repairs} left something to repair; {sum(ends):,} offsets checked, none lost; {took}")
    kinds = list(torn(options.torn, options.seed))
    print(f"{len(kinds)} torn writes: " + ", ".join(f"{kinds.count(kind)} × {kind}" for kind in sorted({*kinds})))


if __name__ == "__main__":
    main()
