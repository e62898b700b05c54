"""The errors that end a sweep, as a sentence with the remedy below it."""

from __future__ import annotations


class SweepError(Exception):
    """A sweep cannot begin or continue. `bad_input`: the request is wrong; otherwise its execution failed."""

    def __init__(self, message: str, remedy: str = "", *, bad_input: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy
        self.bad_input = bad_input
