"""The exceptions of the control port's client."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class ControlError(Exception):
    """A refused request: `status`, `title`, `detail`, `remedy`; `problem` is the whole document (RFC 9457)."""

    def __init__(self, problem: Mapping[str, Any]) -> None:
        self.problem = problem
        self.status = int(problem.get("status", 0))
        self.title = str(problem.get("title", "refused"))
        self.detail = str(problem.get("detail", ""))
        self.remedy = str(problem.get("remedy", ""))
        words = f"{self.title}: {self.detail}" if self.detail else self.title
        super().__init__(f"{words}\n    {self.remedy}" if self.remedy else words)


class TimedOut(ControlError, TimeoutError):
    """An expired wait; `problem` has the present state."""


class Unreachable(Exception):
    """No server answers at the address, or the ready file does not exist."""
