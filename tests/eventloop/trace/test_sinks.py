"""Where traces end, and the way back."""

from __future__ import annotations

import errno
import io
import sys
from collections.abc import Callable
from contextlib import nullcontext, suppress
from pathlib import Path

import pyarrow.parquet
import pytest
import structlog

from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.eventloop.trace.sinks import (
    COLUMNS,
    PARQUET,
    JsonLinesSink,
    ParquetSink,
    read_trace,
    sink_for,
    write_trace,
)

PAYLOAD = {"seed": 7, "scenario": "länge ∆\u2028", "a": {"z": 1, "b": [True, None]}}
COUNT = {"count": 2, "base": 0}
EVENTS = [
    TraceEvent(
        1, 0, Kind.RUN_STARTED, payload={"seed": 7, "scenario": "länge ∆\u2028", "a": {"z": 1, "b": [True, None]}}
    ),
    TraceEvent(2, 3_000_000, Kind.GROUP_STATE, "b0", "g", "m", 1, from_="Empty", to="PreparingRebalance", cause=1),
    TraceEvent(
        3, 3_000_001, Kind.RECORDS_DELIVERED, "m", topic="t", partition=0, span=4, payload={"count": 2, "base": 0}
    ),
    TraceEvent(
        4,
        3_000_002,
        Kind.RESPONSE_SENT,
        "b0",
        "g",
        "m",
        1,
        "t",
        2,
        "Heartbeat",
        9,
        "OOPS",
        "x",
        "y",
        "r",
        1,
    ),
]
LINES = (
    '{"seq":1,"t_us":0,"kind":"run.started","cause":0,'
    '"payload":{"a":{"b":[true,null],"z":1},"scenario":"länge ∆\u2028","seed":7}}\n'
    '{"seq":2,"t_us":3000000,"kind":"group.state","host":"b0","group":"g","member":"m","generation":1,'
    '"from":"Empty","to":"PreparingRebalance","cause":1}\n'
    '{"seq":3,"t_us":3000001,"kind":"records.delivered","host":"m","topic":"t","partition":0,"span":4,"cause":0,'
    '"payload":{"base":0,"count":2}}\n'
    '{"seq":4,"t_us":3000002,"kind":"response.sent","host":"b0","group":"g","member":"m","generation":1,"topic":"t",'
    '"partition":2,"api":"Heartbeat","correlation":9,"error":"OOPS","from":"x","to":"y","reason":"r",'
    '"span":1,"cause":0}\n'
)


def test_json_lines_to_the_byte(tmp_path: Path) -> None:
    """Columns in schema order, nulls left out, payload keys sorted, UTF-8 not escaped, lines ended by LF."""
    write_trace(EVENTS, tmp_path / "t.jsonl")
    assert (tmp_path / "t.jsonl").read_bytes() == LINES.encode()


def test_the_schema() -> None:
    """The columns of both formats, in order; `from` has its real name."""
    names = "seq t_us kind host group member generation topic partition api correlation error from to reason span cause"
    assert list(COLUMNS) == [*names.split(), "payload"]


@pytest.mark.parametrize("name", ["t.jsonl", "t.parquet"])
def test_what_was_written_is_read_back(tmp_path: Path, name: str) -> None:
    """A trace comes back as the same events from either format."""
    write_trace(EVENTS, tmp_path / name)
    assert read_trace(tmp_path / name) == EVENTS
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_parquet_has_the_same_columns(tmp_path: Path) -> None:
    """Parquet has the columns of the schema by names fit for SQL, numbers as 64-bit integers, the payload as JSON."""
    write_trace(EVENTS, tmp_path / "t.parquet")
    table = pyarrow.parquet.read_table(tmp_path / "t.parquet")
    assert table.column_names == [PARQUET[name] for name in COLUMNS]
    assert str(table.schema.field("t_us").type) == "int64"
    assert table.column("payload")[2].as_py() == '{"base":0,"count":2}'


def test_an_empty_trace(tmp_path: Path) -> None:
    """A run without events gives an empty trace in either format, not a missing file."""
    for name in ("t.jsonl", "t.parquet"):
        write_trace([], tmp_path / name)
        assert read_trace(tmp_path / name) == []


@pytest.mark.parametrize("name", ["t.jsonl", "t.parquet"])
def test_nothing_half_written(tmp_path: Path, name: str) -> None:
    """A file appears only when it is whole: not before `close`, and not at all after an error; an old one survives."""
    path = tmp_path / name
    write_trace(EVENTS, path)
    before = path.read_bytes()
    sink = sink_for(path)
    with suppress(LookupError), sink:
        sink(EVENTS[0])
        assert path.read_bytes() == before
        raise LookupError
    assert path.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == [name]
    sink.close()
    sink.abort()
    assert path.read_bytes() == before


def test_an_open_file_is_written_and_left_open() -> None:
    """A sink on an open file writes into it and leaves closing to its owner."""
    text = io.StringIO()
    with JsonLinesSink(text) as sink:
        for event in EVENTS:
            sink(event)
    assert text.getvalue() == LINES


def test_structlog_stays_as_the_user_left_it() -> None:
    """Writing a trace neither needs nor changes structlog's global configuration."""
    structlog.reset_defaults()
    with JsonLinesSink(io.StringIO()) as sink:
        sink(EVENTS[0])
    assert not structlog.is_configured()


@pytest.mark.parametrize("value", [{1, 2}, b"bytes", object()])
def test_payloads_without_an_order_are_refused(value: object) -> None:
    """A set, bytes or any object in a payload is an error that says what may stand there."""
    with JsonLinesSink(io.StringIO()) as sink, pytest.raises(TypeError, match="cannot be in a trace's payload"):
        sink(TraceEvent(1, 0, Kind.WARNING, payload={"x": [value]}))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"seq":1', "not a line of JSON"),
        ('{"seq":1,"t_us":0}', "not an event of a trace: the column 'kind' is missing"),
        ('{"seq":1,"t_us":0,"kind":"warning","colour":"red"}', "not an event of a trace: there is no column 'colour'"),
        ('{"seq":1,"t_us":0,"kind":"party"}', "not an event of a trace: there is no kind of event 'party'"),
        ("[]", "not an event of a trace: a line is an object of columns, this is a list"),
    ],
)
def test_what_is_no_trace(tmp_path: Path, text: str, says: str) -> None:
    """A line that is no event is an error with file and line."""
    (tmp_path / "t.jsonl").write_text(LINES.split("\n")[0] + "\n" + text + "\n", encoding="utf-8")
    with pytest.raises(ValueError, match=rf"t\.jsonl:2: {says}"):
        read_trace(tmp_path / "t.jsonl")


def test_a_file_that_is_no_text_is_no_trace(tmp_path: Path) -> None:
    """Said in words, not as a codec says it."""
    (tmp_path / "t.jsonl").write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match=r"t\.jsonl: not text in UTF-8"):
        read_trace(tmp_path / "t.jsonl")


def test_other_suffixes_are_refused(tmp_path: Path) -> None:
    """A trace is written as .jsonl or .parquet; anything else is an error that says so."""
    with pytest.raises(ValueError, match=r"written as \.jsonl or \.parquet, not \.csv"):
        sink_for(tmp_path / "t.csv")


def test_parquet_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without pyarrow the error names the extra to install."""
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(RuntimeError, match=r"groupsim\[parquet\]"):
        ParquetSink(tmp_path / "t.parquet")


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
@pytest.mark.parametrize("end", ["close", "abort"])
def test_a_file_for_which_there_is_no_room_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, end: str
) -> None:
    """When the last bytes cannot be written (a full disk), neither the file nor the beginning of it stays."""
    sink = sink_for(tmp_path / f"t{suffix}")
    for event in EVENTS:
        sink(event)

    def full() -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    below = sink._stream if isinstance(sink, JsonLinesSink) else sink._writer
    close = below.close
    monkeypatch.setattr(sink, "_stream" if suffix == ".jsonl" else "_writer", Full(below, full))
    with pytest.raises(OSError, match="No space") if end == "close" else nullcontext():
        getattr(sink, end)()
    assert list(tmp_path.iterdir()) == []
    close()


class Full:
    """What is below, but closing fails."""

    closed = False

    def __init__(self, below: object, close: Callable[[], None]) -> None:
        self._below = below
        self.close = close

    def __getattr__(self, name: str) -> object:
        return getattr(self._below, name)
