"""The decorator that turns a command's exception into a message and an exit code (`error_report.py`)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import typer

from groupsim.cli.exits import INTERRUPTED, complain

P = ParamSpec("P")
R = TypeVar("R")


def guarded(command: Callable[P, R]) -> Callable[P, R]:
    """Wrap a command: an exception becomes a message on stderr and an exit code; `--traceback` prints the traceback."""

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
            from groupsim.cli.error_report import report  # only now: it imports much, and most commands end well

            report(error, bool(kwargs.get("traceback")), bool(kwargs.get("as_json")))

    return guard
