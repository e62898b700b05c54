"""`groupsim segment`: the batches and index entries of a log segment, and the look-up of an offset."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from attrs import field
from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from groupsim.cli import as_json
from groupsim.cli.exits import SUCCESS, Trouble, complain
from groupsim.cli.terminal import Terminal
from groupsim.cluster.log.files.damage import CorruptIndex, DamagedLog
from groupsim.cluster.log.files.segment import INDEX, LOG, TIME_INDEX
from groupsim.cluster.log.headers import BatchHeader, Lookup, base_offset_of, find, headers, index_of, segment_for
from groupsim.protocol.values import define

_SEGMENT = re.compile(r"\d{20}\.(log|index|timeindex)$")
HEAD, TAIL = 12, 4
"""Numbers of batches shown of a long segment, at its start and at its end."""


@define
class Listing:
    """The batches of a segment: all are counted, the first and the last are kept."""

    segment: Path
    entries: list[tuple[int, int]]
    keep_all: bool
    batches: int = 0
    records: int = 0
    size: int = 0
    end_offset: int = 0
    head: list[BatchHeader] = field(factory=list)
    tail: deque[BatchHeader] = field(factory=lambda: deque(maxlen=TAIL))
    problem: str = ""

    def add(self, batch: BatchHeader) -> None:
        """Count a batch."""
        self.batches += 1
        self.records += batch.records
        self.size = batch.position + batch.size
        self.end_offset = batch.last_offset + 1
        if self.keep_all or len(self.head) < HEAD:
            self.head.append(batch)
        else:
            self.tail.append(batch)

    @property
    def shown(self) -> tuple[BatchHeader, ...]:
        """The kept batches."""
        return (*self.head, *self.tail)

    @property
    def left_out(self) -> int:
        """The number of batches between the first and the last kept ones."""
        return self.batches - len(self.head) - len(self.tail)


def segment(path: Path, offset: int | None, every: bool, wants_json: bool) -> int:
    """Print a segment, or the look-up of an offset; return the exit code. Raises Trouble for other files."""
    segments = _segments(path)
    if offset is not None:
        return _find(segments, offset, wants_json)
    listings = [_listing(one, every and len(segments) == 1) for one in segments]
    if wants_json:
        print(as_json.text({"schema": as_json.SCHEMA, "segments": [_document(one) for one in listings]}))
        return SUCCESS
    console = Terminal()
    if len(listings) == 1:
        _show(listings[0], console)
    else:
        _show_folder(path, listings, console)
    return SUCCESS


def _segments(path: Path) -> list[Path]:
    """Return the segments of a partition's folder, or the one of the given log or index."""
    if path.is_dir():
        found = sorted(one for one in path.iterdir() if _SEGMENT.match(one.name) and one.suffix == LOG)
        if not found:
            raise Trouble(f"{path} has no segment", "name a partition's folder (orders-0), or a segment in it (….log)")
        return found
    if not path.exists():
        raise Trouble(f"{path}: there is no such file", "name a segment (….log) or a partition's folder")
    if not _SEGMENT.match(path.name):
        raise Trouble(f"{path}: not a segment", "a segment is named after its base offset: 20 digits and .log")
    log = path.with_suffix(LOG)
    if not log.exists():
        raise Trouble(f"{path}: the log beside it is missing", f"name a folder that has {log.name} too")
    return [log]


def _listing(path: Path, every: bool) -> Listing:
    listing = Listing(path, _entries(path), every)
    try:
        for batch in headers(path):
            listing.add(batch)
    except DamagedLog as damage:
        if not listing.batches:
            raise Trouble(str(damage), "name a segment of a log; kafka-dump-log.sh --files checks one") from None
        listing.problem = str(damage)
        complain(str(damage), "the batches before it are shown")
    return listing


def _entries(path: Path) -> list[tuple[int, int]]:
    """Return the entries of the offset index; none, with a warning, if it is missing or corrupt."""
    if not path.with_suffix(INDEX).exists():
        complain(f"{path.with_suffix(INDEX)} is missing", "a broker rebuilds it from the log at its start")
        return []
    try:
        return index_of(path).entries()
    except CorruptIndex as wrong:
        complain(str(wrong), "a broker rebuilds it from the log at its start")
        return []


# --- what is printed -------------------------------------------------------------------------------------------------


def _show(listing: Listing, console: Console) -> None:
    path, base = listing.segment, base_offset_of(listing.segment)
    console.print(Text(f"{path.parent.resolve().name}/{path.name}", "bold cyan"))
    end = f", next offset {listing.end_offset:,}" if listing.batches else ""
    size = f"{_count(listing.batches, 'batch', 'batches')}, {_count(listing.records, 'record')}, {listing.size:,} bytes"
    newest = max((batch.max_timestamp_ms for batch in listing.shown), default=-1)
    day = f"; times of {_date(newest, '%Y-%m-%d')} (UTC)" if newest >= 0 else ""
    _note(f"base offset {base:,}{end}; {size}; {_beside(path)}{day}", console)
    if listing.batches:
        console.print(_table(listing))
    if listing.left_out:
        _note(f"{listing.left_out:,} batches in between are left out; --all shows them", console)
    entries = _count(len(listing.entries), "entry", "entries")
    _note(
        f"index: {entries}, offsets relative to {base:,}; an entry has the last offset of a batch and the byte at "
        "which the batch begins",
        console,
    )


def _note(text: str, console: Console) -> None:
    console.print(Padding(Text(text, "dim"), (0, 0, 0, 2), expand=False))


def _table(listing: Listing) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")
    for column in ("byte", "offsets", "records", "bytes"):
        table.add_column(column, justify="right", no_wrap=True)
    for column in ("newest", "codec"):
        table.add_column(column, no_wrap=True)
    table.add_column("producer\nid/epoch", overflow="fold")  # the column that folds on a narrow terminal
    table.add_column("index entry", no_wrap=True)
    base, at = base_offset_of(listing.segment), {position: offset for offset, position in listing.entries}
    for number, batch in enumerate(listing.shown):
        if listing.left_out and number == len(listing.head):
            table.add_row("…")
        entry = f"({at[batch.position] - base:,}, {batch.position:,})" if batch.position in at else ""
        cells = (
            f"{batch.position:,}",
            offsets(batch),
            f"{batch.records:,}",
            f"{batch.size:,}",
            _date(batch.max_timestamp_ms, "%H:%M:%S"),
            batch.codec,
            _producer(batch),
            entry,
        )
        table.add_row(*(Text(cell) for cell in cells))
    return table


def _show_folder(path: Path, listings: Iterable[Listing], console: Console) -> None:
    console.print(Text(path.resolve().name, "bold cyan"))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=True, header_style="dim")
    table.add_column("segment", no_wrap=True)
    for column in ("base offset", "next offset", "batches", "records", "bytes", "index entries"):
        table.add_column(column, justify="right")
    for one in listings:
        figures = (base_offset_of(one.segment), one.end_offset, one.batches, one.records, one.size, len(one.entries))
        table.add_row(one.segment.name, *(f"{figure:,}" for figure in figures))
    console.print(table)
    _note("a segment is named after its base offset; name one to see its batches", console)


def offsets(batch: BatchHeader) -> str:
    """Return the offsets of a batch as a range."""
    one = batch.base_offset == batch.last_offset
    return f"{batch.base_offset:,}" if one else f"{batch.base_offset:,}–{batch.last_offset:,}"


def _producer(batch: BatchHeader) -> str:
    if batch.producer_id < 0:
        return ""
    kind = " marker" if batch.control else " txn" if batch.transactional else ""
    sequence = f" seq {batch.base_sequence}" if batch.base_sequence >= 0 else ""
    return f"{batch.producer_id}/{batch.producer_epoch}{sequence}{kind}"


def _beside(path: Path) -> str:
    sizes = [
        f"{suffix} {path.with_suffix(suffix).stat().st_size:,} bytes"
        for suffix in (INDEX, TIME_INDEX)
        if path.with_suffix(suffix).exists()
    ]
    return ", ".join(sizes) or "no index beside it"


def _date(time_ms: int, layout: str) -> str:
    return "" if time_ms < 0 else datetime.fromtimestamp(time_ms / 1000, UTC).strftime(layout)


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def _document(listing: Listing) -> dict[str, Any]:
    return {
        "file": str(listing.segment),
        "base_offset": base_offset_of(listing.segment),
        "next_offset": listing.end_offset if listing.batches else base_offset_of(listing.segment),
        "batches": listing.batches,
        "records": listing.records,
        "bytes": listing.size,
        "left_out": listing.left_out,
        "listed": as_json.plain(listing.shown),
        "index": [{"offset": offset, "position": position} for offset, position in listing.entries],
        "problem": listing.problem or None,
    }


# --- finding an offset -----------------------------------------------------------------------------------------------


def _find(segments: list[Path], offset: int, wants_json: bool) -> int:
    path = segment_for(segments, offset)
    if path is None:
        first = base_offset_of(segments[0])
        raise Trouble(f"offset {offset} is before the log's first segment", f"the log starts at offset {first}")
    try:
        found = find(path, offset)
    except (CorruptIndex, DamagedLog) as wrong:
        raise Trouble(str(wrong), "a broker repairs index and log end at its start") from None
    if wants_json:
        print(as_json.text({"schema": as_json.SCHEMA, **_as_document(found)}))
    else:
        _show_lookup(found, len(segments), Terminal())
    return SUCCESS


def _as_document(found: Lookup) -> dict[str, Any]:
    document = as_json.plain(found)
    document["segment"] = str(found.segment)
    document["entry"] = None if found.entry is None else {"offset": found.entry[0], "position": found.entry[1]}
    return dict(document)


def _show_lookup(found: Lookup, segments: int, console: Console) -> None:
    base = base_offset_of(found.segment)
    console.print(Text(f"offset {found.offset:,}", "bold cyan"))
    among = f"of {segments} segments the last" if segments > 1 else "the one"
    _step("segment", f"{among} whose base offset is not above it: {found.segment.name}", console)
    if found.entry is None:
        why = "no entry at or before it: the scan begins at byte 0"
    else:
        at, position = found.entry
        relative = f"({at - base:,}, {position:,})"
        why = f"the last entry at or before {found.offset:,} is {relative}: offset {at:,}, byte {position:,}"
    _step("step 1", f"bisection in {_count(found.entries, 'index entry', 'index entries')}: {why}", console)
    read = _count(len(found.scanned), "batch", "batches")
    if found.found is None:
        end = found.scanned[-1].last_offset + 1 if found.scanned else base
        _step("step 2", f"{read} read: none holds it, the segment ends with offset {end - 1:,}", console)
        return
    batch = found.found
    holds = batch.base_offset <= found.offset
    what = "holds it" if holds else "is the first after it (the offset is compacted away, or a marker's)"
    third = f", its record {found.offset - batch.base_offset + 1:,}" if holds and batch.codec == "none" else ""
    number = "offset" if batch.base_offset == batch.last_offset else "offsets"
    where = f"the one with {number} {offsets(batch)} at byte {batch.position:,}"
    _step("step 2", f"{read} read from there: {where} {what}{third}", console)


def _step(name: str, text: str, console: Console) -> None:
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True, min_width=9)
    grid.add_column(overflow="fold")
    grid.add_row(Text(f"  {name}"), Text(text))
    console.print(grid)
