"""How a command ends: exit codes, and errors as sentences instead of tracebacks.

0  well      1  an expectation failed      2  bad input      3  the run failed      130  ctrl-C
"""

from __future__ import annotations

import errno
import functools
import signal
import sys
import traceback as tracebacks
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn, ParamSpec, TypeVar

import typer
from rich.text import Text

from groupsim import as_json
from groupsim.eventloop.errors import EventLoopError
from groupsim.members.failures import PluginError
from groupsim.members.settings import SettingError
from groupsim.pipeline.sweep.errors import SweepError
from groupsim.scenarios.language.printable import visible
from groupsim.scenarios.language.problems import ERROR, Problem, ScenarioError
from groupsim.terminal import Terminal

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # the disk, the user's share of it, what a file may hold
WELL, EXPECTATION_FAILED, BAD_INPUT, RUN_FAILED, INTERRUPTED = 0, 1, 2, 3, 130

P = ParamSpec("P")
R = TypeVar("R")


class Trouble(Exception):
    """An end with a message: what was wrong, and the remedy below it."""

    def __init__(self, message: str, remedy: str = "", code: int = BAD_INPUT) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy
        self.code = code


def guarded(command: Callable[P, R]) -> Callable[P, R]:
    """A command whose errors end in a sentence on stderr and an exit code; `--traceback` shows the rest."""

    @functools.wraps(command)
    def guard(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return command(*args, **kwargs)
        except (typer.Exit, typer.Abort):
            raise
        except KeyboardInterrupt as stop:
            complain(" ".join(("interrupted", *getattr(stop, "__notes__", ()))))
            raise typer.Exit(INTERRUPTED) from None
        except Exception as error:
            _end(error, bool(kwargs.get("traceback")), bool(kwargs.get("as_json")))

    return guard


@contextmanager
def ended_as_by_ctrl_c() -> Iterator[None]:
    """A batch system, a container, a closed terminal ends the command: as after ctrl-C nothing is left half done."""

    def interrupt(_: int, frame: FrameType | None) -> None:
        by_ctrl_c = signal.getsignal(signal.SIGINT)
        if callable(by_ctrl_c):
            by_ctrl_c(signal.SIGINT, frame)  # in a run it is trio's own: what is raised in the midst of trio breaks it
        else:  # under nohup, or started in the background, there is none
            raise KeyboardInterrupt

    signals = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    mine = [one for one in signals if signal.getsignal(one) == signal.SIG_DFL]  # under nohup one is ignored
    for one in mine:
        signal.signal(one, interrupt)
    try:
        yield
    finally:
        for one in mine:
            signal.signal(one, signal.SIG_DFL)


def _end(error: Exception, traceback: bool, wants_json: bool) -> NoReturn:
    message, remedy, code = explain(error)
    if wants_json:
        print(as_json.text(_document(error, message, remedy, code)))
    if isinstance(error, ScenarioError):
        print(visible(message), file=sys.stderr)
    else:
        complain(message, remedy)
    if traceback and not isinstance(error, ScenarioError):
        print("".join(tracebacks.format_exception(error.__cause__ or error)), file=sys.stderr)
    raise typer.Exit(code)


def _document(error: Exception, message: str, remedy: str, code: int) -> dict[str, Any]:
    """An error for programs: what stderr says, and the problems of a scenario file one by one."""
    return as_document(message, remedy, code, error.problems if isinstance(error, ScenarioError) else ())


def as_document(message: str, remedy: str, code: int, problems: Sequence[Problem] = ()) -> dict[str, Any]:
    """What `--json` prints in place of a result."""
    return {
        "schema": as_json.SINCE_SEVERITY,
        "error": {"message": message, "remedy": remedy, "exit_code": code, "problems": as_json.plain(tuple(problems))},
    }


def explain(error: Exception) -> tuple[str, str, int]:
    """Message, remedy and exit code of an error."""
    if isinstance(error, Trouble):
        return error.message, error.remedy, error.code
    if isinstance(error, ScenarioError):
        return show_problems(error.problems), "", BAD_INPUT
    if isinstance(error, SettingError):
        return f"{error.key} = {error.value!r}: {error.problem}", error.remedy, BAD_INPUT
    if isinstance(error, SweepError):
        return error.message, error.remedy, BAD_INPUT if error.bad_input else RUN_FAILED
    if isinstance(error, PluginError | EventLoopError):
        return str(error), "", RUN_FAILED
    if isinstance(error, OSError):
        remedy = "make room, or name another place" if error.filename and error.errno in FULL else ""
        return f"{error.filename or 'the output'}: {error.strerror or error}", remedy, BAD_INPUT
    where = tracebacks.extract_tb(error.__traceback__)[-1]
    text = f"{type(error).__name__}: {error} ({where.filename}:{where.lineno})"
    return text, "this is a defect of groupsim; `--traceback` shows where it happened", RUN_FAILED


def show_problems(problems: tuple[Problem, ...]) -> str:
    """All problems, one below the other, with a count when there are several."""
    lines = [str(problem) for problem in problems]
    errors = sum(problem.severity == ERROR for problem in problems)
    return "\n".join(lines + ([f"{errors} errors"] if errors > 1 else []))


def complain(message: str, remedy: str = "") -> None:
    """Say on stderr what was wrong."""
    console = Terminal(stderr=True, soft_wrap=True)
    console.print(Text.assemble(("groupsim: ", "bold red"), message))
    if remedy:
        console.print(Text("    " + remedy, "yellow"))
