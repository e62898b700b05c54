"""The topics that match regular expressions, as a broker's resolver finds them.

Source: `TopicRegexResolver.resolveRegularExpressions`; consumer-protocol reference, 1.20.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from groupsim.coordinator.base.consumer_records import ResolvedRegex
from groupsim.coordinator.base.interfaces import TopicsImage
from groupsim.coordinator.base.records import whole_ms
from groupsim.protocol.javahash import java_sorted
from groupsim.protocol.patterns import InvalidPattern, compile_pattern

Describable: TypeAlias = Callable[[Collection[str]], Collection[str]]
"""Return those of the topics that the sender of a heartbeat may describe."""

STEP = 2_000
"""The work of one step: so many matches of small patterns, or one of the largest that a member may have."""
_UNIT = 20  # instructions of a pattern for one unit of work


class Resolution:
    """One resolution, in steps of bounded work: a broker does it beside its coordinator, and no group waits for it.

    The topics are those of the broker at the beginning. A text that RE2/J cannot read has none.
    """

    def __init__(self, regexes: Iterable[str], image: TopicsImage) -> None:
        self._version = image.version
        self._found: dict[str, list[str]] = {regex: [] for regex in regexes}
        self._left = self._matches(tuple(image.names()))

    def _matches(self, names: Sequence[str]) -> Iterator[int]:
        """Match every name with every text; yield the work of each match."""
        for regex, found in self._found.items():
            try:
                matches = compile_pattern(regex)
            except InvalidPattern:
                continue
            work = 1 + matches.size // _UNIT
            for name in names:
                if matches(name):
                    found.append(name)
                yield work

    def step(self) -> bool:
        """Do a part of the work; return whether all of it is done."""
        work = 0
        for done in self._left:
            work += done
            if work >= STEP:
                return False
        return True

    def result(self, now_us: int, describable: Describable | None = None) -> Mapping[str, ResolvedRegex]:
        """Return the topics of each text: those whose whole name matches, and that the sender may describe."""
        allowed = {name for matched in self._found.values() for name in matched}
        if describable is not None:
            allowed = set(describable(allowed))
        return {
            regex: ResolvedRegex(tuple(java_sorted(allowed.intersection(matched))), self._version, whole_ms(now_us))
            for regex, matched in self._found.items()
        }


def resolve(
    regexes: Iterable[str], image: TopicsImage, now_us: int, describable: Describable | None = None
) -> Mapping[str, ResolvedRegex]:
    """Return the result of a whole resolution at once."""
    resolution = Resolution(regexes, image)
    while not resolution.step():
        pass
    return resolution.result(now_us, describable)
