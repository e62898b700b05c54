"""`--data-dir`: the brokers' logs of a run as files, all of them or none.

A run writes into the folder `DIR.unfinished` and renames it to `DIR` at its end, so that `DIR` is complete. A failed
run removes the folder; a killed run leaves it under the first name. An existing empty directory, such as a mounted
volume, is kept with its owner: the run writes into `DIR/.unfinished`, and moves the content up at its end.
"""

from __future__ import annotations

import resource
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from groupsim.cli.exits import Trouble
from groupsim.cli.sources import check_directory, check_parent
from groupsim.scenarios.language.model import Scenario
from groupsim.scenarios.plans.clusters import is_replicated

_SUFFIX = ".unfinished"


def check_data_dir(path: Path | None, scenario: Scenario) -> None:
    """Check the directory before the run. Raises Trouble if it is in use or cannot be made, or for counted logs."""
    if path is None:
        return
    if not is_replicated(scenario):
        raise Trouble(
            f"{path}: counted logs hold no records to keep",
            "leave `logs: counted` out of `cluster`, or add --set cluster.logs=replicated",
        )
    if path.exists() and not path.is_dir():
        raise Trouble(f"{path} is a file, and the logs need a directory", f"write {path}-data, or remove the file")
    unfinished = _unfinished(path)
    if unfinished.exists():
        raise Trouble(f"{unfinished} is in use by a run, or a killed run left it", f"rm -r {unfinished}")
    if path.is_dir() and any(path.iterdir()):
        raise Trouble(f"{path} is not empty: a run begins with empty logs", "name another directory, or empty this one")
    if path.is_dir():
        check_directory(path)
    else:
        check_parent(path)


@contextmanager
def kept(path: Path) -> Iterator[Path]:
    """Yield the folder to write into. It becomes `path` at the end of the block, and is removed after a failure."""
    unfinished = _unfinished(path)
    _allow_many_files()
    try:
        unfinished.mkdir()
        yield unfinished
        if unfinished.parent == path.resolve():
            _move_up(unfinished)
        else:
            unfinished.rename(path)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise


def _unfinished(path: Path) -> Path:
    whole = path.resolve()
    return whole / _SUFFIX if whole.is_dir() else whole.with_name(whole.name + _SUFFIX)


def _move_up(folder: Path) -> None:
    for entry in sorted(folder.iterdir()):
        entry.rename(folder.parent / entry.name)
    folder.rmdir()


def _allow_many_files() -> None:
    """Raise the limit of open files as far as permitted: every segment is an open file."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
