"""A story on a terminal: headline, generations, lanes, partitions that stood still, notes.

The story has all facts; this module formats its parts within their limits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from rich.console import Console
from rich.text import Text

from groupsim.cli.render import generations, records, screen
from groupsim.cli.render import lanes as lanes_drawn
from groupsim.cli.render import many_groups as many_groups_shown
from groupsim.cli.render.owners import LONGEST_NAME, Column, picture, ranges
from groupsim.cli.render.owners_columns import columns_of
from groupsim.cli.render.screen import EVERYTHING, USUAL, Limits, Part
from groupsim.cli.terminal import shortened, width_of
from groupsim.protocol.messages.group import TopicPartition
from groupsim.scenarios.pictures.choice import groups_in_full, lanes_of, members_in, troubled_first
from groupsim.scenarios.story import FailedProduce, GroupStory, Standstill, Story, partition_set
from groupsim.scenarios.story.many_groups import ManyGroups, many_groups
from groupsim.scenarios.story.model import TimelineEntry
from groupsim.scenarios.story.rebalances.rollouts import rollout_line
from groupsim.scenarios.story.words import clock, count, processes, span

SHORT_BESIDE = 100  # standstills shorter than the longest by this factor are counted, not listed
NARROW = 40


def show(
    story: Story, console: Console, introduction: str = "", limits: Limits = USUAL, *, group: str | None = None
) -> None:
    """Print the story of all groups, or of one; `introduction` is the scenario's description."""
    screen.draw(list(parts(story, introduction, group=group)), console, limits)


def parts(story: Story, introduction: str = "", *, owners: bool = False, group: str | None = None) -> Iterator[Part]:
    """Yield the parts of the story; with `owners` every assignment in full, without limits.

    Of many groups there is a summary, and the group hit hardest in detail; with a `group`, that group only.
    """
    yield Part(partial(_show_head, story, introduction))
    many = many_groups(story) if group is None else None
    if many is not None:
        yield Part(partial(_show_many_groups, many), first=True)
    detailed = groups_in_full(story, group)
    for one in detailed:
        yield from _group_parts(one, detailed, story, owners=owners)
    if unread := _unread(story):
        yield Part(partial(records.show_given_up, unread))
    if story.actions or story.faults or story.notes:
        yield Part(partial(_show_doings, story))


def _group_parts(group: GroupStory, detailed: Sequence[GroupStory], story: Story, *, owners: bool) -> Iterator[Part]:
    """Yield the parts of one group: generations, owners, lanes, partitions, records."""
    yield Part(partial(_show_generations, group), first=True)
    if columns := columns_of(group.generations):
        yield Part(partial(_show_owners, columns, everything=owners), asked=owners)
    if lanes_of(group, story):
        yield Part(partial(_show_lanes, group, detailed, story))
    if group.standstills:
        yield Part(partial(_show_standstills, group))
    for draw in records.parts(group.group, story):
        yield Part(draw)


def _show_many_groups(many: ManyGroups, console: Console, limits: Limits) -> None:
    many_groups_shown.show(many, console)
    console.print()
    words = f"the group hit hardest is {many.worst.group}; --group NAME shows another one, --json has all"
    console.print(Text(words, "dim"))


def _show_head(story: Story, introduction: str, console: Console, limits: Limits) -> None:
    console.print(Text(story.headline, "bold"), soft_wrap=_into_a_pipe(console))
    console.print(Text(_subtitle(story), "dim"))
    if introduction:
        for line in _first_lines(Text(introduction, "dim italic"), limits.introduction, console):
            console.print(line)


def _first_lines(text: Text, most: int | None, console: Console) -> Sequence[Text]:
    """Return the text in at most `most` lines; the last one ends with the option that prints the rest."""
    wrapped = text.wrap(console, console.width)
    if most is None or len(wrapped) <= most:
        return [text]
    rest = f"… ({EVERYTHING})"
    last = wrapped[most - 1]
    last.rstrip()
    words = last.plain
    while words and len(words) + 1 + len(rest) > console.width:
        words = words.rpartition(" ")[0]
    return [*wrapped[: most - 1], Text(f"{words} {rest}", text.style)]


def _unread(story: Story) -> list[FailedProduce]:
    """Return the failed produces to topics that no printed group reads."""
    shown = {group.group for group in story.groups}
    read = {one.partition.topic for one in story.accounts if one.group in shown}
    return [one for one in story.given_up if one.topic not in read]


def _into_a_pipe(console: Console) -> bool:
    """Whether the output is a pipe without a width: then the headline stays one line, for `| head -1`."""
    return width_of(console) is None


def _subtitle(story: Story) -> str:
    parts = [story.scenario, f"seed {story.seed}" if story.seed is not None else ""]
    parts += [f"{span(story.end_us)} of virtual time", processes(lane.profile for lane in story.lanes)]
    return " · ".join(part for part in parts if part)


def _show_generations(group: GroupStory, console: Console, limits: Limits) -> None:
    console.print(Text(group.group, "bold cyan"), Text(_totals(group), "dim"))
    for rollout in group.rollouts:
        _print_line(console, Text(f"  {rollout_line(rollout)}"))
    for row in generations.lines(group.generations, width_of(console), limits):
        _print_line(console, row)


def _show_owners(columns: Sequence[Column], console: Console, limits: Limits, *, everything: bool) -> None:
    """Print the owners after each generation, within the limits or in full."""
    for line in picture(columns, width_of(console), most=None if everything else limits.owners):
        console.print(line, soft_wrap=True)


def _print_line(console: Console, row: Text) -> None:
    """Print a line; on a narrow terminal its continuation is indented below its text, in a pipe it is one line."""
    indent = len(row.plain) - len(row.plain.lstrip())
    if _into_a_pipe(console):
        console.print(row, soft_wrap=True)
    elif not indent or indent > console.width - NARROW:
        console.print(row)
    else:
        for line in row[indent:].wrap(console, console.width - indent):
            line.rstrip()
            console.print(Text(" " * indent).append_text(line))


def _totals(group: GroupStory) -> str:
    parts = []
    if group.formed_us is not None:
        parts.append(f"formed in {span(group.formed_us)}")
    parts.append(f"{group.delivered:,} records delivered" if group.delivered else "")
    parts.append(f"{group.duplicates:,} of them twice" if group.duplicates else "")
    if group.commits_failed:
        parts.append("commits failed: " + ", ".join(f"{number} × {error}" for error, number in group.commits_failed))
    if group.overlaps:
        longest = max(one.ended_us - one.began_us for one in group.overlaps)
        parts.append(f"two owners at once on {count(len(group.overlaps), 'partition')}, up to {span(longest)}")
    return " · ".join(["", *(part for part in parts if part)]).lstrip()


# --- lanes and partitions ------------------------------------------------------------------------------------------


def _show_lanes(
    group: GroupStory, detailed: Sequence[GroupStory], story: Story, console: Console, limits: Limits
) -> None:
    drawn = {group.group: lanes for group in detailed if (lanes := lanes_of(group, story))}
    first = limits.axes or group.group == next(iter(drawn))
    lanes = drawn[group.group] if first else members_in(group, story)
    shown = troubled_first(lanes, limits.lanes)
    beside = shown if limits.axes else [one for every in drawn.values() for one in troubled_first(every, limits.lanes)]
    margin = max(len(group.words.head) + 1, *(len(shortened(lane.host, LONGEST_NAME)) for lane in beside)) + 2
    width = max(NARROW, min(console.width, 160) - margin - 6)
    scale = lanes_drawn.Scale(story.end_us, width, ascii=not lanes_drawn.can_print(console))
    if first:
        console.print(_row("", margin, lanes_drawn.axis(scale)))
    console.print(_row(group.words.head, margin, lanes_drawn.generations(group.generations, scale)))
    for lane in shown:
        console.print(_row(shortened(lane.host, LONGEST_NAME), margin, lanes_drawn.lane(lane, scale)))
    if len(shown) < len(lanes):
        words = f"{len(lanes) - len(shown)} more, not drawn; {EVERYTHING} draws them"
        console.print(Text(f"{'…':<{margin}}{words}", "dim"))
    if first:
        console.print(_row("", margin, lanes_drawn.legend(beside, scale)))


def _row(name: str, margin: int, drawn: Text) -> Text:
    return Text(f"  {name:<{margin}}").append_text(drawn)


SINCE = {"released": "release", "crashed": "crash", "paused": "pause"}


def _show_standstills(group: GroupStory, console: Console, limits: Limits) -> None:
    longest = sorted(group.standstills, key=lambda s: (-s.length_us, s.began_us, s.partition))
    notable = [one for one in longest if limits.brief or one.length_us * SHORT_BESIDE >= longest[0].length_us]
    rows: dict[tuple[str, str, str], list[TopicPartition]] = {}
    for still in notable:
        rows.setdefault((span(still.length_us), _owners(still), _when(still)), []).append(still.partition)
    shown = list(rows.items())[: limits.standstills]
    console.print(Text("  partitions that stood still, longest first", "dim"))
    cells = [(length, shortened(_together(them), limits.longest), *more) for (length, *more), them in shown]
    wide, names, owners = (max(len(row[at]) for row in cells) for at in range(3))
    for length, partitions, whose, when in cells:
        _print_line(console, Text(f"{length:>{max(12, wide + 4)}}  {partitions:<{names}}  {whose:<{owners}}  {when}"))
    number = len(longest) - sum(len(partitions) for _, partitions in shown)
    if number:
        words = f"… {number} more, up to {span(longest[-number].length_us)}; {EVERYTHING} lists them"
        console.print(Text(f"    {words}", "dim"))


def _together(partitions: Sequence[TopicPartition]) -> str:
    """Format one partition by its name, several as ranges."""
    return str(partitions[0]) if len(partitions) == 1 else ranges(partition_set(partitions)).plain


def _owners(still: Standstill) -> str:
    if still.target == still.origin:
        return f"{still.origin} kept it"
    return f"{still.origin} → {still.target or 'none'}"


def _when(still: Standstill) -> str:
    ended = "the end" if still.open else clock(still.ended_us)
    return f"{clock(still.began_us)} ({SINCE[still.basis]}) – {ended}"


# --- what else was going on ----------------------------------------------------------------------------------------


def _show_doings(story: Story, console: Console, limits: Limits) -> None:
    """Print the actions and faults, and the notes that have room beside them, in order of time."""
    done = [*story.actions, *story.faults]
    chosen = sorted(done, key=_when_done)[: limits.doings]
    room = None if limits.doings is None else limits.doings - len(chosen)
    shown = sorted((*chosen, *sorted(story.notes, key=_when_done)[:room]), key=_when_done)
    console.print(Text("  what was done and noted", "dim"))
    wide = max(10, *(len(clock(doing.t_us)) for doing in shown))
    for doing in shown:
        until = f" until {clock(doing.until_us)}" if doing.until_us is not None else ""
        where = f"{doing.host}: " if doing.host and doing.host not in doing.what else ""
        _print_line(console, Text(f"    {clock(doing.t_us):>{wide}}  {where}{doing.what}{until}"))
    if left := len(done) + len(story.notes) - len(shown):
        console.print(Text(f"    … {left} more; {EVERYTHING} lists them", "dim"))


def _when_done(doing: TimelineEntry) -> int:
    return doing.t_us
