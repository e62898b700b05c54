"""Log messages by version, as templates.

A `Wording` is valid from one version to the next one of the same code; an empty text means that the version logs no
line at INFO. Placeholders are filled from the trace.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from groupsim.protocol.values import frozen

Version = tuple[int, int]
NEWEST: Version = (99, 0)


@frozen
class Wording:
    """One message, valid from version `since` on."""

    since: Version
    text: str
    level: str = "INFO"


Table = Mapping[str, tuple[Wording, ...]]


def version(text: object, default: Version = NEWEST) -> Version:
    """Parse `3.9`, `0.11`, `2.x`, `java-2.8` to a pair of numbers; return `default` without a number."""
    found = re.search(r"(\d+)(?:\.(\d+))?", str(text or ""))
    return (int(found[1]), int(found[2] or 99)) if found else default


def wording(table: Table, code: str, at: Version) -> Wording | None:
    """Return the message of a code in a version; None if that version logs no line."""
    found = [one for one in table.get(code, ()) if one.since <= at]
    return found[-1] if found and found[-1].text else None


class Blanks(dict[str, object]):
    """The values for a template; an unknown value is a question mark."""

    def __init__(self, *parts: Mapping[str, object]) -> None:
        super().__init__()
        for part in parts:
            self.update(part)

    def __missing__(self, key: str) -> str:
        return "?"
