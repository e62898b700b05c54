"""Errors of the command line as JSON: with `--json` stdout always gets a document.

The parser finds these errors before a command starts, so the group of commands handles them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer
from typer.core import TyperGroup

from groupsim.cli.exits import BAD_INPUT

USAGE_ERROR: type[Exception] = typer.BadParameter.__mro__[1]
"""The parser's exception. Its package depends on the version of typer."""


class Commands(TyperGroup):
    """The commands; with `--json` an error of the command line is printed on standard output too."""

    asked_for_json = False

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Parse the options before the command."""
        self.asked_for_json = "--json" in args
        with self._errors_as_json():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: Any) -> Any:
        """Find the command, parse its options, run it."""
        with self._errors_as_json():
            return super().invoke(ctx)

    @contextmanager
    def _errors_as_json(self) -> Iterator[None]:
        try:
            yield
        except USAGE_ERROR as error:
            if self.asked_for_json:
                from groupsim.cli.as_json import text
                from groupsim.cli.error_report import as_document

                print(text(as_document(*_explained(error))))
            raise


def _explained(error: Any) -> tuple[str, str, int]:
    """Return message, remedy and exit code."""
    where = f"{error.ctx.command_path} -h" if error.ctx is not None else "groupsim -h"
    return error.format_message(), f"`{where}` lists the commands and options", BAD_INPUT
