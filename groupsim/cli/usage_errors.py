"""A command line that cannot be read, as JSON for who asked for that: the reader of `--json` gets a document always.

The parser finds these mistakes before any command begins, so no command can tell them; the group of commands does.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer
from typer.core import TyperGroup

from groupsim.cli.exits import BAD_INPUT

USAGE_ERROR: type[Exception] = typer.BadParameter.__mro__[1]
"""What the parser raises. Which package it comes from depends on typer's version."""


class Commands(TyperGroup):
    """The commands; with `--json` a mistyped line is told on standard output, too."""

    asked_for_json = False

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Read the options before the command."""
        self.asked_for_json = "--json" in args
        with self._told_as_json():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: Any) -> Any:
        """Find the command, read its options, run it."""
        with self._told_as_json():
            return super().invoke(ctx)

    @contextmanager
    def _told_as_json(self) -> Iterator[None]:
        try:
            yield
        except USAGE_ERROR as error:
            if self.asked_for_json:
                from groupsim.cli.as_json import text
                from groupsim.cli.error_report import as_document

                print(text(as_document(*_told(error))))
            raise


def _told(error: Any) -> tuple[str, str, int]:
    """Message, remedy and exit code."""
    where = f"{error.ctx.command_path} -h" if error.ctx is not None else "groupsim -h"
    return error.format_message(), f"`{where}` shows what there is", BAD_INPUT
