"""Where commands print their tables and sentences."""

from __future__ import annotations

from rich.console import Console


class Terminal(Console):
    """A console without markup guesses, for standard output."""

    def __init__(self, *, soft_wrap: bool = False) -> None:
        super().__init__(highlight=False, soft_wrap=soft_wrap)
