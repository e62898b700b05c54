"""Paths on the command line: traces to read, and files and directories to write."""

from __future__ import annotations

import os
from pathlib import Path

from groupsim.cli.exits import Trouble
from groupsim.eventloop.trace.events import TraceEvent
from groupsim.eventloop.trace.sinks import read_trace
from groupsim.logs.files import foreign_files

TRACES = (".jsonl", ".parquet")


def is_trace(source: str) -> bool:
    """Whether a source is a trace and not a scenario, by its suffix."""
    return source.endswith(TRACES)


def trace(source: str) -> list[TraceEvent]:
    """Read the events of a trace file. Raises `Trouble` if it is unreadable or no trace."""
    try:
        return _not_empty(read_trace(Path(source)))
    except (ValueError, KeyError, TypeError) as error:
        raise Trouble(f"{source} is not a trace: {error}", "write one with `groupsim run NAME --trace FILE`") from None
    except OSError as error:
        reason = "there is no such file" if isinstance(error, FileNotFoundError) else error.strerror or str(error)
        remedy = "check the path; `groupsim run NAME --trace FILE` writes a trace"
        raise Trouble(f"{source}: {reason}", remedy) from None
    except ImportError as error:
        raise Trouble(f"cannot read {source}: {error}", "install groupsim[parquet], or use a .jsonl trace") from None


def _not_empty(events: list[TraceEvent]) -> list[TraceEvent]:
    if not events:
        raise ValueError("it holds no event")
    return events


def check_target(path: Path | None) -> None:
    """Check before the run that a trace file can be written. Raises Trouble."""
    if path is None:
        return
    if path.is_dir():
        raise Trouble(f"{path} is a directory", f"write {path / 'trace.jsonl'}")
    if path.suffix not in TRACES:
        raise Trouble(f"{path}: a trace ends in .jsonl or .parquet", f"write {path.with_suffix('.jsonl')}")
    check_parent(path)
    if path.suffix == ".parquet":
        _need_pyarrow(path)


def check_parent(path: Path) -> None:
    """Check that the directory of a path exists and is writable. Raises Trouble."""
    parent = path.resolve().parent
    if parent.is_dir():
        _check_permission(path, parent)
    elif parent.exists():
        raise Trouble(f"{path}: {parent} is a file", "name a path in a directory")
    else:
        raise Trouble(f"{path}: the directory {path.parent} does not exist", f"mkdir -p {path.parent}")


def _check_permission(path: Path, directory: Path) -> None:
    if not os.access(directory, os.W_OK | os.X_OK):
        raise Trouble(f"{path}: no permission to write in {directory}", "name another path")


def check_directory(path: Path | None) -> None:
    """Check before the run that a directory for logs is writable and has no other files. Raises Trouble."""
    if path is None:
        return
    if path.exists() and not path.is_dir():
        raise Trouble(f"{path} is a file, and the logs need a directory", f"write {path}-logs, or remove the file")
    standing = next(place for place in (path.resolve(), *path.resolve().parents) if place.exists())
    if not standing.is_dir():
        raise Trouble(f"{path}: {standing} is a file", "name a path in a directory")
    _check_permission(path, standing)
    foreign = foreign_files(path)
    if foreign:
        more = f" and {len(foreign) - 1} more" if len(foreign) > 1 else ""
        raise Trouble(
            f"{path} has files that are not logs of an earlier run: {foreign[0]}{more}",
            "name a new or an empty directory: a reader would take the logs of several runs for one run",
        )


def _need_pyarrow(path: Path) -> None:
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        remedy = f"install groupsim[parquet], or write {path.with_suffix('.jsonl')}"
        raise Trouble(f"{path}: Parquet needs pyarrow, which is not installed", remedy) from None
