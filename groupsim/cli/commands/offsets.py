"""`groupsim offsets`: the decoded records of `__consumer_offsets`, of a run or of files."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from groupsim.cli import as_json
from groupsim.cli.exits import SUCCESS, Trouble, complain
from groupsim.cli.offset_rows import (
    COUNTS,
    LIVE,
    PENDING,
    SUPERSEDED,
    OffsetRow,
    Summary,
    rows_of,
    summary_of,
    time_us,
)
from groupsim.cli.running import perform
from groupsim.cli.scenario_source import instant, load
from groupsim.cli.terminal import Terminal
from groupsim.coordinator.base.interfaces import LoadFailed
from groupsim.coordinator.base.placement import OFFSETS_TOPIC, partition_for
from groupsim.protocol.batch.batch import EPOCH_MS, Batch
from groupsim.protocol.batch.codec import LENGTH_END, MAGIC, read_batches
from groupsim.protocol.errors import ProtocolError
from groupsim.protocol.values import frozen
from groupsim.scenarios.language.problems import suggest
from groupsim.scenarios.runtime.stage import Stage
from groupsim.scenarios.story.words import clock, count

Batches = dict[int, list[Batch]]
_FOLDER = re.compile(rf"{OFFSETS_TOPIC}-(\d+)$")
_SEGMENT = re.compile(r"\d{20}\.log$")
_BROKER = re.compile(r"broker-\d+$")
_STYLES = {LIVE: "", PENDING: "yellow"}


@frozen
class RecordFilter:
    """The filter of the printed records."""

    group: str | None = None
    topic: str | None = None
    live: bool = False

    def wants(self, row: OffsetRow) -> bool:
        """Whether the filter accepts a row; a marker has no group."""
        if self.live and row.state not in COUNTS:
            return False
        return self.group in (None, row.group) and self.topic in (None, row.topic)


def offsets(source: str, at: str | None, seed: int, settings: list[str], asked: RecordFilter, wants_json: bool) -> int:
    """Print the records; return the exit code."""
    path, torn = Path(source), list[str]()
    of_files = path.is_dir() or path.suffix == ".log"
    if of_files:
        for option, given in (
            ("--at", at is not None),
            ("--seed", seed),
            ("--set", settings),
        ):
            if given:
                raise Trouble(f"{option} is valid for a run, and {path} is a log", "leave the option out")
        found = read_files(path, asked, torn)
    else:
        found = of_run(source, at, seed, settings)
    rows = [row for number in sorted(found) for row in _rows(found[number], number, path if of_files else None)]
    _check("group", asked.group, [row.group for row in rows])
    _check("topic", asked.topic, [row.topic for row in rows])
    shown = [row for row in rows if asked.wants(row)]
    size = sum(batch.size for batches in found.values() for batch in batches)
    summary = summary_of(shown, size)
    for warning in torn:
        complain(warning, "the complete batches are shown; a broker truncates such a tail at its start")
    if wants_json:
        print(as_json.text({**document(shown, summary), "warnings": torn}))
    else:
        show(shown, summary, Terminal(), virtual=not of_files)
    return SUCCESS


def _check(what: str, asked: str | None, found: Sequence[str | None]) -> None:
    """Raise Trouble for a name that no record has: a misspelling is likelier than a group or topic without records."""
    known = sorted({name for name in found if name is not None})
    if asked is not None and known and asked not in known:
        raise Trouble(f"no record of {what} {asked!r}", suggest(asked, known, f"{what}s with records"))


def _rows(batches: Sequence[Batch], number: int, path: Path | None) -> list[OffsetRow]:
    try:
        return rows_of(batches, number)
    except (LoadFailed, ProtocolError) as error:
        remedy = "compare with kafka-dump-log.sh --offsets-decoder"
        if path is None:
            raise Trouble(str(error), remedy) from error
        raise Trouble(
            f"{path}: {error}",
            f"if this is a log of {OFFSETS_TOPIC}, {remedy}; `groupsim segment {path}` lists any other log",
        ) from error


# --- where they come from ----------------------------------------------------------------------------------------


def of_run(source: str, at: str | None, seed: int, settings: list[str]) -> Batches:
    """Run a scenario, and return the batches of every partition with records at an instant."""
    scenario = load(source, settings)
    at_us = scenario.run_for if at is None else instant(scenario, at)
    found: Batches = {}
    perform(scenario, seed, source, looks=[(at_us, partial(_take, found))], settings=settings)
    return found


def _take(found: Batches, stage: Stage) -> None:
    for number in range(stage.cluster.config.offsets_partitions):
        batches = stage.cluster.offsets_batches(number)
        if batches:
            found[number] = list(batches)


def read_files(path: Path, asked: RecordFilter, torn: list[str]) -> Batches:
    """Read the partitions of `__consumer_offsets` in a data directory, one of its folders, or one segment.

    `torn` gets a sentence for every last segment with a half-written end.
    """
    if not path.exists():
        raise Trouble(f"{path}: there is no such file", "name an existing segment, or a folder of them")
    folders = [path] if path.is_file() or _FOLDER.match(path.resolve().name) else _folders(path)
    found: Batches = {}
    for folder in folders:
        number = _number(folder)
        if asked.group is not None and len(folders) > 1 and partition_for(asked.group, len(folders)) != number:
            complete = sorted(map(_number, folders)) == list(range(len(folders)))
            if complete:  # the number of partitions is known, and so the group's partition
                continue
        *closed, last = _segments(folder)
        found[number] = [batch for segment in closed for batch in _read(segment)]
        found[number] += _read(last, torn)
    return found


def _segments(folder: Path) -> list[Path]:
    """Return the segments of a partition's folder, or the given segment."""
    if folder.is_file():
        return [folder]
    segments = sorted(one for one in folder.iterdir() if _SEGMENT.match(one.name))
    if not segments:
        raise Trouble(f"{folder} has no segment", "a segment is named after its base offset: 20 digits and .log")
    return segments


def _folders(path: Path) -> list[Path]:
    found = [one for one in path.iterdir() if one.is_dir() and _FOLDER.match(one.name)]
    if found:
        return sorted(found, key=_number)
    if any(_SEGMENT.match(one.name) for one in path.iterdir()):
        return [path]
    brokers = sorted(one for one in path.iterdir() if one.is_dir() and _BROKER.match(one.name))
    if brokers:
        return _fullest([folder for broker in brokers for folder in _folders(broker)])
    raise Trouble(
        f"{path} has no partition of {OFFSETS_TOPIC}",
        f"name a broker's data directory (log.dirs), a folder {OFFSETS_TOPIC}-N in it, or a segment (….log); "
        f"`groupsim segment {path}` lists a topic's log",
    )


def _fullest(folders: Sequence[Path]) -> list[Path]:
    """Return for each partition the replica with the longest log; of equal ones that of the first broker."""
    best: dict[int, Path] = {}
    for folder in folders:
        number = _number(folder)
        if number not in best or _end(folder) > _end(best[number]):
            best[number] = folder
    return [best[number] for number in sorted(best)]


def _end(folder: Path) -> tuple[str, int]:
    """Return name (its base offset) and size of the last segment."""
    return max(
        ((one.name, one.stat().st_size) for one in folder.iterdir() if _SEGMENT.match(one.name)), default=("", 0)
    )


def _number(path: Path) -> int:
    named = _FOLDER.match((path if path.is_dir() else path.resolve().parent).resolve().name)
    return int(named[1]) if named else 0


def _read(segment: Path, torn: list[str] | None = None) -> Sequence[Batch]:
    """Read the batches of a segment. With `torn`, for a segment that may be open, a half-written tail is left out."""
    try:
        data = segment.read_bytes()
        whole = len(data) if torn is None else _whole(data)
        if torn is not None and whole < len(data):
            torn.append(f"{segment}: half written from byte {whole} on, {len(data) - whole} bytes are omitted")
        return read_batches(data[:whole])
    except OSError as error:
        raise Trouble(f"{segment}: {error.strerror}") from error
    except ProtocolError as error:
        remedy = "the end of an open segment may be half written; a broker truncates such a tail at its start"
        raise Trouble(f"{segment}: {error}", remedy) from error


def _whole(data: bytes) -> int:
    """Return the end of the last complete batch by the length fields alone; the reader detects other damage."""
    at = 0
    while at + LENGTH_END <= len(data):
        length = int.from_bytes(data[at + 8 : at + LENGTH_END], "big", signed=True)
        if length <= 0:
            return len(data)
        if at + LENGTH_END + length > len(data):
            return at if data[at + 16 : at + 17] in (b"", bytes([MAGIC])) else len(data)
        at += LENGTH_END + length
    return at


# --- what is printed ---------------------------------------------------------------------------------------------


def show(rows: Sequence[OffsetRow], summary: Summary, console: Console, *, virtual: bool) -> None:
    """Print a table for each partition, and the summary."""
    for number in dict.fromkeys(row.partition for row in rows):
        console.print(Text(f"{OFFSETS_TOPIC}-{number}", "bold cyan"))
        console.print(_table([row for row in rows if row.partition == number], virtual=virtual))
    console.print(Text(_summary_words(summary), "bold" if rows else "yellow"))


def _table(rows: Sequence[OffsetRow], *, virtual: bool) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="dim")
    table.add_column("offset", justify="right", no_wrap=True)
    for column in ("time", "type", "key", "value", "counts"):
        table.add_column(column, overflow="fold")
    for row in rows:
        when = clock(time_us(row)) if virtual else _date(row.timestamp_ms)
        cells = (str(row.offset), when, row.type, row.key, row.value, _state(row))
        table.add_row(*(Text(cell) for cell in cells), style=_STYLES.get(row.state, "dim"))
    return table


def _state(row: OffsetRow) -> str:
    return f"until {row.superseded_by}" if row.state == SUPERSEDED else row.state


def _date(time_ms: int) -> str:
    return datetime.fromtimestamp(time_ms / 1_000, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _summary_words(summary: Summary) -> str:
    if not summary.records:
        return f"no records, of {summary.bytes:,} bytes read"
    states = ", ".join(f"{number} {state}" for state, number in summary.states.items())
    where = f"{count(summary.records, 'record')} in {count(summary.partitions, 'partition')}"
    return f"{where}: {states}; {summary.bytes:,} bytes of log"


def document(rows: Sequence[OffsetRow], summary: Summary) -> Mapping[str, object]:
    """Build the JSON document: records with all their fields."""
    return {"schema": as_json.SCHEMA, "summary": as_json.plain(summary), "records": [_plain(row) for row in rows]}


_KAFKAS = {
    "commit_us": "commit_timestamp",
    "expire_us": "expire_timestamp",
    "state_timestamp_us": "current_state_timestamp",
    "time_us": "timestamp",
}
"""Times of a record under the names in Kafka's `OffsetCommitValue` and `GroupMetadataValue`, in ms since 1970.

`time_us` is that of a target assignment or of a resolved regular expression.
"""


def _record(row: OffsetRow) -> Mapping[str, object]:
    """Return a record's fields as JSON, with times in ms since 1970 as its bytes have them."""
    plain = as_json.plain(row.record)
    if isinstance(plain.get("value"), dict):
        plain["value"] = {
            _KAFKAS.get(name, name): value if name not in _KAFKAS or value is None else EPOCH_MS + value // 1_000
            for name, value in plain["value"].items()
        }
    assert isinstance(plain, dict)
    return plain


def _plain(row: OffsetRow) -> Mapping[str, object]:
    return {
        "partition": row.partition,
        "offset": row.offset,
        "timestamp_ms": row.timestamp_ms,
        "type": row.type,
        "state": row.state,
        "superseded_by": row.superseded_by,
        "record": _record(row),
    }
