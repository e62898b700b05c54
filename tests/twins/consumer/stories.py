"""All stories of the consumer protocol."""

from __future__ import annotations

from attrs import evolve

from tests.twins.consumer import beating, committing, ending, joining, reconciling
from tests.twins.consumer.differs import DIFFERS
from tests.twins.consumer.ends import ENDS
from tests.twins.story import Story

_TABLES: tuple[Story, ...] = (
    *joining.LOOK_UPS,
    *joining.JOINS,
    *beating.HEARTBEATS,
    *beating.ACKNOWLEDGEMENTS,
    *beating.IN_CALLBACKS,
    *reconciling.TARGETS,
    *reconciling.SUBSCRIPTIONS,
    *reconciling.EXPRESSIONS,
    *committing.COMMITS,
    *committing.AUTO_COMMITS,
    *committing.OFFSET_LOOK_UPS,
    *ending.CLOSES,
    *ending.UNSUBSCRIBES,
    *ending.AWAY,
    *ending.OTHERS,
    *ending.LONG_POLLS,
)

ALL: tuple[Story, ...] = tuple(
    evolve(story, ends_ms=ENDS.get(story.name, story.ends_ms), differs=DIFFERS.get(story.name, "")) for story in _TABLES
)
