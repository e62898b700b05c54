"""Fixed words by version: templates as data.

A `Wording` is one text from one version on, until the next one of the same code; an empty text means that the version
logs nothing at INFO. Placeholders are filled from the trace.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from attrs import frozen

Version = tuple[int, int]
NEWEST: Version = (99, 0)


@frozen
class Wording:
    """One text, from `since` on."""

    since: Version
    text: str
    level: str = "INFO"


Table = Mapping[str, tuple[Wording, ...]]


def version(text: object, default: Version = NEWEST) -> Version:
    """`3.9`, `0.11`, `2.x`, `java-2.8` as a pair of numbers; `default` when there are none."""
    found = re.search(r"(\d+)(?:\.(\d+))?", str(text or ""))
    return (int(found[1]), int(found[2] or 99)) if found else default


def wording(table: Table, code: str, at: Version) -> Wording | None:
    """The text of `code` in this version; None where nothing is logged."""
    found = [one for one in table.get(code, ()) if one.since <= at]
    return found[-1] if found and found[-1].text else None


class Blanks(dict[str, object]):
    """Values for a template; what is not known stays a question mark."""

    def __init__(self, *parts: Mapping[str, object]) -> None:
        super().__init__()
        for part in parts:
            self.update(part)

    def __missing__(self, key: str) -> str:
        return "?"
