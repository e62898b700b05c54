"""What can go wrong with a control port."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class ControlError(Exception):
    """The port refuses: `status`, `title`, `detail`, `remedy`, and in `problem` the whole document (RFC 9457)."""

    def __init__(self, problem: Mapping[str, Any]) -> None:
        self.problem = problem
        self.status = int(problem.get("status", 0))
        self.title = str(problem.get("title", "refused"))
        self.detail = str(problem.get("detail", ""))
        self.remedy = str(problem.get("remedy", ""))
        words = f"{self.title}: {self.detail}" if self.detail else self.title
        super().__init__(f"{words}\n    {self.remedy}" if self.remedy else words)


class TimedOut(ControlError, TimeoutError):
    """What was waited for did not come about in time; `problem` says how things stand."""


class Unreachable(Exception):
    """Nobody answers at the address, or the ready file is not there."""
