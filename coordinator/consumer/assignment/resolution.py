"""The topics that match regular expressions, as a broker's resolver finds them.

Source: `TopicRegexResolver.resolveRegularExpressions`; consumer-protocol reference, 1.20.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from groupsim.coordinator.base.consumer_records import ResolvedRegex
from groupsim.coordinator.base.interfaces import TopicsImage
from groupsim.coordinator.base.records import whole_ms
from groupsim.protocol.javahash import java_sorted
from groupsim.protocol.patterns import InvalidPattern, compile_pattern


def all_of(names: Collection[str]) -> Collection[str]:
    """Return all names: without an authorizer every topic may be described."""
    return names


def resolve(
    regexes: Iterable[str],
    image: TopicsImage,
    now_us: int,
    describable: Callable[[Collection[str]], Collection[str]] = all_of,
) -> Mapping[str, ResolvedRegex]:
    """Return the topics of each text: those whose whole name matches, and that the sender may describe.

    A text that RE2/J cannot read has no topics.
    """
    names = list(image.names())
    found = {regex: [name for name in names if matches(name)] for regex, matches in _compiled(regexes)}
    allowed = set(describable({name for matched in found.values() for name in matched}))
    return {
        regex: ResolvedRegex(tuple(java_sorted(allowed.intersection(matched))), image.version, whole_ms(now_us))
        for regex, matched in found.items()
    }


def _compiled(regexes: Iterable[str]) -> Iterable[tuple[str, Callable[[str], bool]]]:
    for regex in regexes:
        try:
            yield regex, compile_pattern(regex)
        except InvalidPattern:
            yield regex, _matches_none


def _matches_none(name: str) -> bool:
    """Return False."""
    return False
