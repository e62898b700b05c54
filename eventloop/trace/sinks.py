"""The sinks of a trace: JSON Lines, Parquet, a list; and reading them.

JSON Lines: one event per line, the columns in schema order, columns that are null left out, keys of the payload
sorted, UTF-8, each line ended by a line feed; so equal runs give equal bytes. Parquet: the same columns, by names that
need no quotes in SQL (`PARQUET`), the payload as JSON text; equal as tables. A file appears under its name only when it
is whole.

structlog is the sink at the edge: each JSON Lines sink has a structlog logger of its own, with its own processors.
Nothing is configured globally, so a user's own structlog stays as it was.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from operator import attrgetter
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, TextIO

from groupsim.eventloop.trace.events import Kind, TraceEvent

# Column name in files -> name of the attribute. `from` is a keyword of Python.
COLUMNS: dict[str, str] = {name.rstrip("_"): name for name in TraceEvent._fields}
# Column of a trace -> its name in Parquet files and tables, where `group`, `from` and the like would be words of SQL.
PARQUET: dict[str, str] = {name: name for name in COLUMNS} | {
    "group": "group_id",
    "member": "member_id",
    "partition": "partition_id",
    "from": "from_state",
    "to": "to_state",
    "span": "span_id",
    "cause": "cause_seq",
}
_FROM_PARQUET = {there: name for name, there in PARQUET.items()}
_values = attrgetter(*COLUMNS.values())
INTEGERS = frozenset({"seq", "t_us", "generation", "partition", "correlation", "span", "cause"})
_PARQUET_ROWS = 65_536


class Sink(Protocol):
    """A destination of a trace."""

    def __call__(self, event: TraceEvent) -> None: ...
    def close(self) -> None: ...
    def abort(self) -> None: ...


class MemorySink:
    """Stores events in `events`, a list."""

    def __init__(self) -> None:
        self.events: list[TraceEvent] = []

    def __call__(self, event: TraceEvent) -> None:
        self.events.append(event)

    def close(self) -> None:
        """Nothing to do."""

    def abort(self) -> None:
        """Nothing to do."""


class _File:
    """A file that appears under its name only when it is whole."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.temporary = path.with_name(f".{path.name}.{os.getpid()}.part")

    @contextmanager
    def whole_or_gone(self) -> Iterator[None]:
        """Finish the file in this block: it gets its name at the end, or is removed on an error (a full disk)."""
        try:
            yield
            os.replace(self.temporary, self.path)
        except BaseException:
            self.discard()
            raise

    def discard(self) -> None:
        with suppress(FileNotFoundError):
            self.temporary.unlink()


class _Closing:
    """Use a sink in a `with` block: closed when it ends well, aborted when it does not."""

    def close(self) -> None:
        raise TypeError("a sink closes itself")

    def abort(self) -> None:
        raise TypeError("a sink aborts itself")

    def __enter__(self) -> Any:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
        else:
            self.abort()


def row(event: TraceEvent) -> dict[str, Any]:
    """Return the columns of an event in schema order, nulls left out, the payload's keys sorted."""
    columns: dict[str, Any] = {
        name: value for name, value in zip(COLUMNS, _values(event), strict=True) if value is not None
    }
    columns["kind"] = event.kind.value
    if event.payload is not None:
        columns["payload"] = plain(event.payload)
    return columns


to_json: Callable[[Any], str] = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


_PLAIN = frozenset({type(None), bool, int, float, str})


def plain(value: Any) -> Any:
    """Convert a value to JSON's types, mappings sorted by key. Raises `TypeError` without an order or a JSON form."""
    if type(value) in _PLAIN:
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, Mapping):
        return {str(key): plain(value[key]) for key in sorted(value, key=str)}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    raise TypeError(f"{value!r} ({type(value).__name__}) cannot be in a trace's payload: use str, int, list, dict")


class JsonLinesSink(_Closing):
    """Writes JSON Lines to a path (atomically: it appears at `close`) or to an open text file (left open)."""

    def __init__(self, target: Path | str | TextIO) -> None:
        from groupsim.eventloop.trace.jsonlines import event_writer  # structlog: only when a file is written

        self._file: _File | None = None
        if isinstance(target, (str, Path)):
            self._file = _File(Path(target))
            self._stream: TextIO = self._file.temporary.open("w", encoding="utf-8", newline="\n")
        else:
            self._stream = target
        self._write = event_writer(self._stream, row, to_json)

    def __call__(self, event: TraceEvent) -> None:
        self._write(event)

    def close(self) -> None:
        """Finish the file and give it its name."""
        if self._file is None:
            self._stream.flush()
        elif not self._stream.closed:
            with self._file.whole_or_gone():
                self._stream.close()

    def abort(self) -> None:
        """Leave no file behind."""
        if self._file is not None and not self._stream.closed:
            with suppress(OSError):  # the buffered data has no room either
                self._stream.close()
            self._file.discard()


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise RuntimeError("Parquet needs pyarrow: run `pip install 'groupsim[parquet]'`, or write .jsonl") from error
    return pyarrow, pyarrow.parquet


class ParquetSink(_Closing):
    """Writes Parquet to a path, a group of rows at a time (atomically: it appears at `close`). Needs pyarrow."""

    def __init__(self, path: Path | str) -> None:
        self._arrow, parquet = _pyarrow()
        self._file = _File(Path(path))
        self._schema = self._arrow.schema(
            [(PARQUET[name], self._arrow.int64() if name in INTEGERS else self._arrow.string()) for name in COLUMNS]
        )
        self._rows: list[dict[str, Any]] = []
        self._writer = parquet.ParquetWriter(str(self._file.temporary), self._schema)
        self._open = True

    def __call__(self, event: TraceEvent) -> None:
        columns = row(event)
        if "payload" in columns:
            columns["payload"] = to_json(columns["payload"])
        self._rows.append({PARQUET[name]: value for name, value in columns.items()})
        if len(self._rows) >= _PARQUET_ROWS:
            self._write_rows()

    def _write_rows(self) -> None:
        self._writer.write_table(self._arrow.Table.from_pylist(self._rows, schema=self._schema))
        self._rows.clear()

    def close(self) -> None:
        """Finish the file and give it its name."""
        if self._open:
            self._open = False
            with self._file.whole_or_gone():
                self._write_rows()
                self._writer.close()

    def abort(self) -> None:
        """Leave no file behind."""
        if self._open:
            self._open = False
            with suppress(OSError):
                self._writer.close()
            self._file.discard()


def sink_for(path: Path | str) -> JsonLinesSink | ParquetSink:
    """The sink that a file's suffix asks for: `.jsonl` or `.parquet`; `ValueError` for any other."""
    suffix = Path(path).suffix
    if suffix == ".jsonl":
        return JsonLinesSink(path)
    if suffix == ".parquet":
        return ParquetSink(path)
    raise ValueError(f"{path}: a trace is written as .jsonl or .parquet, not {suffix or 'without a suffix'}")


def write_trace(events: Iterable[TraceEvent], path: Path | str) -> None:
    """Write events to `path`, in the format its suffix names."""
    with sink_for(path) as sink:
        for event in events:
            sink(event)


def read_trace(path: Path | str) -> list[TraceEvent]:
    """Read a trace back; raises `ValueError` with file and line for what is no trace, `OSError` as `open` does."""
    path = Path(path)
    if path.suffix == ".parquet":
        _, parquet = _pyarrow()
        table = parquet.read_table(str(path))
        strange = [name for name in table.column_names if name not in _FROM_PARQUET]
        if strange:
            raise ValueError(
                f"{path}: not a trace of this version of groupsim: there is no column {strange[0]!r} in its Parquet "
                f"traces; JSON Lines have kept their names"
            )
        rows = table.rename_columns([_FROM_PARQUET[name] for name in table.column_names]).to_pylist()
        return [_event(path, number, _parquet_row(columns)) for number, columns in enumerate(rows, 1)]
    try:
        with path.open(encoding="utf-8") as lines:
            return list(_events_of_lines(path, lines))
    except UnicodeDecodeError:
        raise ValueError(f"{path}: not text in UTF-8") from None


def _events_of_lines(path: Path, lines: Iterable[str]) -> Iterator[TraceEvent]:
    for number, line in enumerate(lines, 1):
        try:
            columns = json.loads(line)
        except json.JSONDecodeError as error:
            raise ValueError(f"{path}:{number}: not a line of JSON: {error.msg}") from None
        yield _event(path, number, columns)


def _parquet_row(columns: dict[str, Any]) -> dict[str, Any]:
    if columns.get("payload") is not None:
        columns["payload"] = json.loads(columns["payload"])
    return columns


def _event(path: Path, number: int, columns: Any) -> TraceEvent:
    try:
        named = {COLUMNS[name]: value for name, value in columns.items() if value is not None}
        named["kind"] = Kind(named["kind"])
        return TraceEvent(**named)
    except (AttributeError, KeyError, TypeError, ValueError):
        raise ValueError(f"{path}:{number}: not an event of a trace: {_wrong(columns)}") from None


def _wrong(columns: Any) -> str:
    """Return the reason for which a line is no event."""
    if not isinstance(columns, dict):
        return f"a line is an object of columns, this is a {type(columns).__name__}"
    strange = [name for name in columns if name not in COLUMNS]
    if strange:
        return f"there is no column {strange[0]!r}"
    missing = [name for name in ("seq", "t_us", "kind") if columns.get(name) is None]
    return f"the column {missing[0]!r} is missing" if missing else f"there is no kind of event {columns['kind']!r}"
