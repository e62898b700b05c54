"""Check how members subscribe: by names, by a pattern or a regex, or by partitions that they assign to themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator

from groupsim.members.settings import ConsumerSettings
from groupsim.protocol.patterns import InvalidPattern, compile_pattern
from groupsim.scenarios.language.mistakes import Wrong
from groupsim.scenarios.language.model import MemberDefaults
from groupsim.scenarios.language.plain_data import Path_
from groupsim.scenarios.language.values import quote

Found = Iterator[tuple[Path_, Wrong]]
_KEPT = "keep one of the two"
_CONSUMER = "consumer"  # the value of group.protocol


def wrong_patterns(path: Path_, spec: MemberDefaults) -> Found:
    """Yield a pattern that cannot be compiled, and one that stands beside another kind of subscription."""
    if spec.subscribe and spec.subscribe_pattern:
        yield (*path, "subscribe-pattern"), Wrong("both topics and a pattern", _KEPT)
    if spec.subscribe_regex is not None and (spec.subscribe or spec.subscribe_pattern):
        yield (*path, "subscribe-regex"), Wrong("both a regex and another subscription", _KEPT)
    if spec.subscribe_pattern is not None:
        yield from _not_a_pattern((*path, "subscribe-pattern"), spec.subscribe_pattern)
    if spec.subscribe_regex is not None:
        yield from _without_re2((*path, "subscribe-regex"), spec.subscribe_regex)


def regex_is_refused(spec: MemberDefaults, settings: ConsumerSettings) -> Wrong | None:
    """Return what is wrong with a regex under these settings: only a consumer group has one."""
    if spec.subscribe_regex is None or settings.group_protocol == _CONSUMER:
        return None
    remedy = "set group.protocol: consumer, or use `subscribe-pattern`, which the client resolves"
    return Wrong("the classic protocol cannot subscribe to a regex", remedy)


def subscribes(spec: MemberDefaults) -> bool:
    """Return whether a member has a subscription of its own."""
    return bool(spec.subscribe or spec.subscribe_pattern or spec.subscribe_regex)


def _not_a_pattern(path: Path_, pattern: str) -> Found:
    try:
        re.compile(pattern)
    except re.error as error:
        yield path, Wrong(f"{quote(pattern)} is not a pattern: {error}", "write a regular expression such as orders-.*")


def _without_re2(path: Path_, regex: str) -> Found:
    """Yield nothing for an invalid regex: the broker refuses it, which a scenario may want to show."""
    try:
        compile_pattern(regex)
    except InvalidPattern:
        return
    except ImportError as error:
        message, _, remedy = str(error).partition(": ")
        yield path, Wrong(message, remedy)
