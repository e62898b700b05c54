"""The file and line in the user's own code of an error, for the author of an assignor."""

from __future__ import annotations

import inspect
import sys
import sysconfig
from pathlib import Path
from traceback import walk_tb
from types import FrameType, TracebackType
from typing import ClassVar

from groupsim.assignors.base.errors import AssignorError, JavaFailure
from groupsim.assignors.base.interface import Assignor

_OURS = str(Path(__file__).resolve().parent.parent)
_LIBRARIES = tuple(sysconfig.get_paths()[key] for key in ("stdlib", "platstdlib"))


class locate_errors:
    """Convert any error of a user's assignor into an AssignorError with its file and line.

    A JavaFailure of one of Kafka's own assignors passes: it is a result, not a defect. A KeyboardInterrupt gets a note
    with the place in the assignor. `computing` lists the calls that have not returned, for a caller that watches their
    duration.
    """

    __slots__ = ("assignor",)
    computing: ClassVar[list[locate_errors]] = []

    def __init__(self, assignor: Assignor) -> None:
        self.assignor = assignor

    def __enter__(self) -> None:
        """List the call."""
        self.computing.append(self)

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.computing.remove(self)
        if isinstance(problem, KeyboardInterrupt):
            where = user_frame(problem, _file(type(self.assignor)))
            problem.add_note(f"in assignor {self.assignor.name!r}" + (f" ({where})" if where else ""))
        # A call of sys.exit() in the assignor is its error, and does not end this program.
        if isinstance(problem, (Exception, SystemExit)) and not isinstance(problem, (AssignorError, JavaFailure)):
            assignor = self.assignor
            where = user_frame(problem, _file(type(assignor))) or source_of(type(assignor))
            raise AssignorError(assignor.name, f"raised {type(problem).__name__}: {problem}", where) from problem


def user_frame(problem: BaseException, file: str | None = None) -> str | None:
    """Return `file:line` of the innermost frame in `file`; without one, outside this package and Python's library."""
    found = None
    for frame, line in walk_tb(problem.__traceback__):
        at = frame.f_code.co_filename
        if at == file or (file is None and _is_users(at)):
            found = f"{at}:{line}"
    if isinstance(problem, SyntaxError) and problem.filename:
        return f"{problem.filename}:{problem.lineno}"
    return found


def place_in(frame: FrameType | None, assignor: Assignor) -> str | None:
    """Return `file:line` of a running program in the assignor's own file; None when it is elsewhere."""
    file = _file(type(assignor))
    while frame is not None:
        if frame.f_code.co_filename == file:
            return f"{file}:{frame.f_lineno}"
        frame = frame.f_back
    return None


def source_of(kind: type) -> str | None:
    """Return `file:line` of a class's `assign`, or of the class itself; None when it has no source."""
    assign = getattr(kind, "assign", None)
    code = getattr(assign, "__code__", None)
    if code is not None and _is_users(code.co_filename):
        return f"{code.co_filename}:{code.co_firstlineno}"
    try:
        return f"{inspect.getsourcefile(kind)}:{inspect.getsourcelines(kind)[1]}"
    except (OSError, TypeError):
        return _file(kind)


def _file(kind: type) -> str | None:
    return getattr(sys.modules.get(kind.__module__), "__file__", None)


def _is_users(file: str) -> bool:
    return not file.startswith(("<", _OURS, *_LIBRARIES))
