"""The stories of the consumer protocol as librdkafka plays them: those that it has the means for.

It asks for the coordinator two or three times at first, so that no rule of a story can mean the second question. Its
program has no callbacks that throw, no commits on demand, and no option to leave or to stay. A regular expression for
the broker is a topic that begins with `^`.
"""

from __future__ import annotations

from tests.twins.consumer.story import ConsumerStory
from tests.twins.story import FIND, Deed, Story

_MISSING = frozenset({"commit", "committed", "regex", "enforce", "wake"})


def fitted(story: Story) -> Story | None:
    """Return a story, None where librdkafka does not have the means."""
    assert isinstance(story, ConsumerStory)
    deeds = [rule for rule in story.rules if isinstance(rule, Deed)]
    missing = any(deed.what in _MISSING or "leave" in deed.given for deed in deeds)
    asks = any(rule.api is FIND for rule in story.rules)
    return None if missing or asks or story.throws or story.poll_ms > 20 else story
