"""What ends a sweep, told in a sentence with the remedy below it."""

from __future__ import annotations


class SweepError(Exception):
    """A sweep cannot begin or go on. `bad_input`: what was asked for is wrong; otherwise the running of it failed."""

    def __init__(self, message: str, remedy: str = "", *, bad_input: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy
        self.bad_input = bad_input
