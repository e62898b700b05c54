"""Whether all members of a group subscribe to the same topics, which lets an assignor choose its simple way.

Kafka keeps the answer with the group, and looks again when a member changes, not when a regular expression is resolved
or forgotten: a member whose removal takes a regular expression along leaves the answer of before behind.

Source: `ConsumerGroup.subscriptionType`, `maybeUpdateGroupSubscriptionType`; consumer-protocol reference, 1.11.
"""

from __future__ import annotations

from collections.abc import Mapping


def are_alike(names: Mapping[str, int], resolved: Mapping[str, int], regexes: Mapping[str, int], members: int) -> bool:
    """Whether all members subscribe by the same names, or all by one regular expression.

    The counts are those of `GroupState`: topic → members by name, topic → regular expressions, text → members.
    """
    if not regexes:
        by_names = all(count == members for count in names.values())
        return by_names and all(topic in names for topic in resolved)
    if next(iter(regexes.values())) != members:
        return False
    return not names and all(count == 1 for count in resolved.values())
