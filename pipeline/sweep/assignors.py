"""The user's own assignors: the modules that an experiment names, and their files.

A scenario names an assignor as `module:Class`, looked for beside the scenario and then where Python looks, or by the
name under which an installed distribution registers it.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

from groupsim.assignors.registry import ENTRY_POINTS
from groupsim.pipeline.sweep.errors import SweepError
from groupsim.scenarios.loading import canonical

if TYPE_CHECKING:
    from groupsim.pipeline.experiment import Experiment

_KEYS = ("assignor", "partition.assignment.strategy")
_OWN = re.compile(r"([A-Za-z_][\w.]*):[A-Za-z_]\w*")


def named(experiment: Experiment) -> list[str]:
    """Every assignor that a cell names, sorted."""
    return sorted({name for cell in experiment.cells for name in _in_document(canonical.parse(cell.document))})


def _in_document(value: Any) -> Iterator[str]:
    """The values of the keys that name assignors, anywhere in a document."""
    if isinstance(value, Mapping):
        for key, below in value.items():
            yield from _names(below) if key in _KEYS else _in_document(below)
    elif isinstance(value, list):
        for below in value:
            yield from _in_document(below)


def _names(value: Any) -> Iterator[str]:
    for text in value if isinstance(value, list) else [value]:
        yield from (part.strip() for part in str(text).split(","))


def modules(names: Iterable[str], folder: Path) -> dict[str, bytes]:
    """The sources of `module:Class` assignors, and their imports from the same folder, by path in the zip.

    Raises SweepError for a module that is not there or is no Python source.
    """
    path = [str(Path.cwd()), str(folder), *sys.path]  # the order in which a run looks
    wanted = [match[1].partition(".")[0] for name in names if (match := _OWN.fullmatch(name))]
    found: dict[str, bytes] = {}
    seen: set[str] = set()
    while wanted:
        top = wanted.pop()
        if top in seen or top == "groupsim":
            continue
        seen.add(top)
        spec = PathFinder.find_spec(top, path)
        if spec is None or spec.origin is None:
            raise SweepError(
                f"there is no module {top!r} in {folder} or on Python's path",
                "check the assignor's name in the scenario, or PYTHONPATH",
                bad_input=True,
            )
        mine = _sources(top, spec)
        found.update(mine)
        wanted += _beside(mine.values(), Path(_home(spec)))
    return found


def _home(spec: ModuleSpec) -> Path:
    """The folder in which a module or package lies."""
    origin = Path(spec.origin or "")
    return origin.parent.parent if spec.submodule_search_locations else origin.parent


def _sources(top: str, spec: ModuleSpec) -> dict[str, bytes]:
    origin = Path(spec.origin or "")
    if origin.suffix != ".py":
        raise SweepError(
            f"the assignor's module {top!r} is no Python source ({origin})",
            "only Python sources can travel to the workers",
            bad_input=True,
        )
    if not spec.submodule_search_locations:
        return {origin.name: origin.read_bytes()}
    home = origin.parent.parent
    return {path.relative_to(home).as_posix(): path.read_bytes() for path in sorted(origin.parent.rglob("*.py"))}


def _beside(sources: Iterable[bytes], home: Path) -> list[str]:
    """What sources import that lies in the same folder as they do."""
    imported: set[str] = set()
    for source in sources:
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Import):
                imported.update(alias.name.partition(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                imported.add(node.module.partition(".")[0])
    return [top for top in sorted(imported) if (home / f"{top}.py").is_file() or (home / top / "__init__.py").is_file()]


def distributions(names: Iterable[str]) -> list[str]:
    """The installed distributions that register one of these assignors."""
    wanted = set(names)
    found = {entry.dist.name for entry in entry_points(group=ENTRY_POINTS) if entry.name in wanted and entry.dist}
    return sorted(found - {"groupsim"})
