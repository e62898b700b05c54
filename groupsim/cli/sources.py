"""What a user names on the command line besides scenarios: traces to read, and files to write."""

from __future__ import annotations

import os
from pathlib import Path

from groupsim.cli.exits import Trouble
from groupsim.eventloop.trace.events import TraceEvent
from groupsim.eventloop.trace.sinks import read_trace
from groupsim.logs.files import foreign_files

TRACES = (".jsonl", ".parquet")


def is_trace(source: str) -> bool:
    """Whether the user means a trace rather than a scenario, by the name's ending."""
    return source.endswith(TRACES)


def trace(source: str) -> list[TraceEvent]:
    """The events of a trace file. Raises `Trouble` when it cannot be read as one."""
    try:
        return _not_empty(read_trace(Path(source)))
    except (ValueError, KeyError, TypeError) as error:
        raise Trouble(f"{source} is not a trace: {error}", "write one with `groupsim run NAME --trace FILE`") from None
    except OSError as error:
        told = "there is no such file" if isinstance(error, FileNotFoundError) else error.strerror or str(error)
        raise Trouble(f"{source}: {told}", "check the path; `groupsim run NAME --trace FILE` writes a trace") from None
    except ImportError as error:
        raise Trouble(f"cannot read {source}: {error}", "install groupsim[parquet], or use a .jsonl trace") from None


def _not_empty(events: list[TraceEvent]) -> list[TraceEvent]:
    if not events:
        raise ValueError("it holds no event")
    return events


def check_target(path: Path | None) -> None:
    """Refuse, before anything runs, a trace file that could not be written afterwards."""
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
    """Refuse a place in a directory that is not there, or in which nothing can be made."""
    parent = path.resolve().parent
    if parent.is_dir():
        _check_permission(path, parent)
    elif parent.exists():
        raise Trouble(f"{path}: {parent} is a file", "name a place in a directory")
    else:
        raise Trouble(f"{path}: the directory {path.parent} does not exist", f"mkdir -p {path.parent}")


def _check_permission(path: Path, directory: Path) -> None:
    if not os.access(directory, os.W_OK | os.X_OK):
        raise Trouble(f"{path}: no permission to write in {directory}", "name another place")


def check_directory(path: Path | None) -> None:
    """Refuse, before anything runs, a directory for logs that is a file, cannot be written in, or has other files."""
    if path is None:
        return
    if path.exists() and not path.is_dir():
        raise Trouble(f"{path} is a file, and the logs need a directory", f"write {path}-logs, or remove the file")
    standing = next(place for place in (path.resolve(), *path.resolve().parents) if place.exists())
    if not standing.is_dir():
        raise Trouble(f"{path}: {standing} is a file", "name a place in a directory")
    _check_permission(path, standing)
    foreign = foreign_files(path)
    if foreign:
        more = f" and {len(foreign) - 1} more" if len(foreign) > 1 else ""
        raise Trouble(
            f"{path} has files that are not logs of an earlier run: {foreign[0]}{more}",
            "name a new or an empty directory: logs of several runs in one would be read as one",
        )


def _need_pyarrow(path: Path) -> None:
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        remedy = f"install groupsim[parquet], or write {path.with_suffix('.jsonl')}"
        raise Trouble(f"{path}: Parquet needs pyarrow, which is not installed", remedy) from None
