"""Which groups are shown one by one, and which lanes, where not all of them fit."""

from __future__ import annotations

from collections.abc import Sequence

from groupsim.scenarios.story import GroupStory, Lane, Phase, Story
from groupsim.scenarios.story.many_groups import many_groups

TROUBLE = {Phase.PAUSED, Phase.DEAD, Phase.EVICTED, Phase.CALLBACK}


def groups_in_full(story: Story, wanted: str | None = None) -> Sequence[GroupStory]:
    """The groups that are shown one by one: the one that is wanted, of many the one that was hit hardest, or all."""
    if wanted is not None:
        return [group for group in story.groups if group.group == wanted]
    many = many_groups(story)
    return story.groups if many is None else [many.worst]


def members_of(groups: Sequence[GroupStory], story: Story) -> int:
    """How many member processes have a lane in the pictures of these groups."""
    names = {None, *(group.group for group in groups)}
    return sum(not lane.producer and lane.group in names for lane in story.lanes)


def lanes_of(group: GroupStory, story: Story) -> Sequence[Lane]:
    """The lanes of a group's picture: its members, and the producers of whom there is something to see."""
    return [*members_in(group, story), *(lane for lane in story.lanes if lane.producer and lane.eventful)]


def members_in(group: GroupStory, story: Story) -> Sequence[Lane]:
    """The lanes of a group's members."""
    return [lane for lane in story.lanes if lane.group in (None, group.group) and not lane.producer]


def troubled_first(lanes: Sequence[Lane], most: int | None) -> Sequence[Lane]:
    """All lanes while they fit; else those with trouble first, in their order."""
    if most is None or len(lanes) <= most:
        return lanes
    troubled = {id(lane) for lane in lanes if any(part.phase in TROUBLE for part in lane.phases)}
    ranked = sorted(range(len(lanes)), key=lambda index: (id(lanes[index]) not in troubled, index))
    return [lanes[index] for index in sorted(ranked[:most])]
