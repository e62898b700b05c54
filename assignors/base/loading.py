"""The object of `module:Class`, which a user wrote."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path

from groupsim.assignors.base.error_location import user_frame
from groupsim.assignors.base.errors import AssignorError


def load_object(name: str, folder: Path) -> object:
    """Import `module:Class` and return it. Raises AssignorError with the remedy."""
    module_name, _, class_name = name.partition(":")
    try:
        with _importing_from(folder):
            module = import_module(module_name)
    except (Exception, SystemExit) as problem:
        raise AssignorError(name, _import_problem(module_name, folder, problem), user_frame(problem)) from problem
    if not hasattr(module, class_name):
        near = get_close_matches(class_name, dir(module), n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        where = getattr(module, "__file__", None)
        raise AssignorError(name, f"module {module_name!r} has no {class_name!r}{hint}", where)
    found: object = getattr(module, class_name)
    return found


def _import_problem(module_name: str, folder: Path, problem: BaseException) -> str:
    if isinstance(problem, ModuleNotFoundError) and problem.name == module_name.partition(".")[0]:
        return f"there is no module {module_name!r} in {folder} or on Python's path; check the name or PYTHONPATH"
    return f"importing module {module_name!r} failed: {type(problem).__name__}: {problem}"


@contextmanager
def _importing_from(folder: Path) -> Iterator[None]:
    """Put a folder first on Python's path, for the time of one import."""
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
