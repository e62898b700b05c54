"""Where commands print. A reader that goes away early (`| head`) is no failure of the run."""

from __future__ import annotations

import os
import sys

import typer
from rich.console import Console


class Terminal(Console):
    """A console without markup guesses, for standard output."""

    def __init__(self, *, soft_wrap: bool = False) -> None:
        super().__init__(highlight=False, soft_wrap=soft_wrap)

    def on_broken_pipe(self) -> None:
        """Nobody reads any more: be quiet and end well."""
        self.quiet = True
        nobody_reads()


def nobody_reads() -> None:
    """End well after the reader went away; nothing more can be printed, not even by the interpreter's own flush."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    raise typer.Exit(0)
