"""A story on a terminal: headline, generations, lanes, partitions that stood still, notes.

Nothing is computed here but what fits the screen. Long stories are cut in the middle, and say so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby

from rich.console import Console
from rich.text import Text

from groupsim import lanes_drawn, many_groups_shown, records_shown
from groupsim.owners_columns import columns_of
from groupsim.owners_shown import picture, ranges
from groupsim.protocol.messages import TopicPartition
from groupsim.scenarios.story import (
    Cause,
    Generation,
    GivenUp,
    GroupStory,
    Lane,
    Late,
    Outcome,
    Phase,
    Standstill,
    Story,
    partition_set,
)
from groupsim.scenarios.story.headline import REMOVALS
from groupsim.scenarios.story.many_groups import many_groups
from groupsim.scenarios.story.rollouts import in_words
from groupsim.scenarios.story.words import clock, count, processes, span
from groupsim.terminal import width_of

MANY_RUNS = 24  # more runs of one cause are cut in the middle
ALIKE = 3  # of generations of one cause in a row so many are shown, and the last
BACK = "↩"  # beside the number of partitions that moved: so many of them back
MANY_LANES = 24
MANY_STANDSTILLS = 8
SHORT_BESIDE = 100  # what is so many times shorter than the longest is counted
LONGEST = 40  # of partitions that stood still in the same time
MANY_NOTES = 12
NARROW = 40
TOGETHER_US = 50_000  # removals within this are one event

HEADS = ("gen", "began", "cause", "ready in", "members", "moved", "stood still")
LEAST = (5, 9, 14, 10, 9, 9, 13)  # columns of a table whose cells are short: tables of several runs look alike
CAUSE = 2  # the column that is cut where a terminal is too narrow
SHORTEST_CAUSE = 12
TROUBLE = {Phase.PAUSED, Phase.DEAD, Phase.EVICTED, Phase.CALLBACK}


def show(
    story: Story, console: Console, introduction: str = "", *, owners: bool = False, group: str | None = None
) -> None:
    """Print the whole story; `introduction` is what the scenario says of itself, `owners` lists all of them.

    Many groups are summed up, and the one that was hit hardest is told; with a `group` that one is, and no other.
    """
    console.print(Text(story.headline, "bold"), soft_wrap=_into_a_pipe(console))
    console.print(Text(_subtitle(story), "dim"))
    if introduction:
        console.print(Text(introduction, "dim italic"))
    for one in _told_in_full(story, console, group):
        console.print()
        show_group(one, story, console, owners=owners)
    records_shown.show_given_up(_unread(story), console)
    _show_doings(story, console)


def _told_in_full(story: Story, console: Console, wanted: str | None) -> list[GroupStory]:
    """The groups that are told one by one; of many that is one, and they are summed up first."""
    if wanted is not None:
        return [group for group in story.groups if group.group == wanted]
    many = many_groups(story)
    if many is None:
        return list(story.groups)
    console.print()
    many_groups_shown.show(many, console)
    console.print()
    words = f"the one that was hit hardest is {many.worst.group}; --group NAME shows another one, --json has all"
    console.print(Text(words, "dim"))
    return [many.worst]


def _unread(story: Story) -> list[GivenUp]:
    """What producers gave up of topics that none of the groups shown reads."""
    shown = {group.group for group in story.groups}
    read = {one.partition.topic for one in story.accounts if one.group in shown}
    return [one for one in story.given_up if one.topic not in read]


def _into_a_pipe(console: Console) -> bool:
    """Whether nobody asked for a width: then the line people quote stays one line, for `| head -1`."""
    return width_of(console) is None


def _subtitle(story: Story) -> str:
    parts = [story.scenario, f"seed {story.seed}" if story.seed is not None else ""]
    parts += [f"{span(story.end_us)} of virtual time", processes(lane.profile for lane in story.lanes)]
    return " · ".join(part for part in parts if part)


def show_group(group: GroupStory, story: Story, console: Console, *, owners: bool = False) -> None:
    """One group: its generations, who owns what, its members' lanes, its partitions."""
    console.print(Text(group.group, "bold cyan"), Text(_totals(group), "dim"))
    for rollout in group.rollouts:
        _print_line(console, Text(f"  {in_words(rollout)}"))
    columns = _columns(group.generations, width_of(console))
    _print_line(console, Text(_line(HEADS, columns), "dim"))
    for row in _generation_rows(group.generations, columns):
        _print_line(console, row)
    _show_owners(group, console, everything=owners)
    members = [lane for lane in story.lanes if lane.group in (None, group.group) and not lane.producer]
    lanes = members + [lane for lane in story.lanes if lane.producer and lane.eventful]
    if lanes:
        console.print()
        _show_lanes(lanes, group, story.end_us, console)
    if group.standstills:
        console.print()
        _show_standstills(group, console)
    records_shown.show(group.group, story, console)


def _show_owners(group: GroupStory, console: Console, *, everything: bool) -> None:
    """Who owns what after each generation, in the lines there are for it, or all."""
    if columns := columns_of(group.generations):
        console.print()
        for line in picture(columns, width_of(console), everything=everything):
            console.print(line, soft_wrap=True)


def _print_line(console: Console, row: Text) -> None:
    """A line whose continuation, when the terminal is narrow, is indented under its text; one line in a pipe."""
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


# --- generations ---------------------------------------------------------------------------------------------------


def _columns(told: Sequence[Generation], width: int | None) -> tuple[int, ...]:
    """The width of each column, the blanks before its cells included; without a `width` nothing is cut.

    A column is as wide as its longest cell needs: times of more than an hour, counts with an aside.
    """
    rows = [HEADS, *map(_cells, told)]
    gaps = (0, 1, 2, 2, 2, 2, 2)
    needed = [max(len(row[at]) for row in rows) + gaps[at] for at in range(len(HEADS))]
    columns = [max(one, least) for one, least in zip(needed, LEAST, strict=True)]
    if width is not None:
        others = sum(columns) - columns[CAUSE]
        columns[CAUSE] = max(SHORTEST_CAUSE + gaps[CAUSE], min(columns[CAUSE], width - others))
    return tuple(columns)


def _line(cells: Sequence[str], columns: Sequence[int]) -> str:
    """The cells in their columns: the cause begins at the left, all others end at the right."""
    cause = columns[CAUSE] - 2
    shown = [f"{cell:>{width}}" for cell, width in zip(cells, columns, strict=True)]
    shown[CAUSE] = f"  {_cut(cells[CAUSE], cause):<{cause}}"
    return "".join(shown)


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def _indent(columns: Sequence[int]) -> str:
    """What stands before a line about a generation: it begins under the cause."""
    return " " * (columns[0] + columns[1] + 2)


def _generation_rows(told: Sequence[Generation], columns: Sequence[int]) -> Iterable[Text]:
    """Every generation, but of many of one cause in a row only the first and the last."""
    runs = [list(run) for _, run in groupby(told, key=lambda generation: generation.cause)]
    for index, run in enumerate(runs):
        if len(runs) > MANY_RUNS and MANY_RUNS // 2 <= index < len(runs) - MANY_RUNS // 2:
            if index == MANY_RUNS // 2:
                yield _left_out([g for run in runs[index : len(runs) - MANY_RUNS // 2] for g in run])
            continue
        shown = len(run) if len(run) <= ALIKE + 2 else ALIKE
        for generation in run[:shown]:
            yield from _generation(generation, columns)
        if shown < len(run):
            yield _alike(run[shown:-1])
            yield from _generation(run[-1], columns)
    if any(move.back for generation in told for move in generation.moves):
        yield Text(_indent(columns) + f"{BACK}: so many of them back to where they had come from", "dim")


def _alike(run: Sequence[Generation]) -> Text:
    """Generations of one cause in a row: how many, whose, how often."""
    names = Counter(g.culprit.host for g in run if g.culprit)
    whose = ", ".join(name for name, _ in names.most_common(3)) + (", …" if len(names) > 3 else "")
    period = span((run[-1].began_us - run[0].began_us) // max(1, len(run) - 1))
    longest = span(max(g.duration_us for g in run))
    return Text(f"    …  {len(run):,} more alike ({whose}), one every {period}, open for up to {longest}", "dim")


def _left_out(told: Sequence[Generation]) -> Text:
    causes = ", ".join(f"{n} × {cause.value}" for cause, n in Counter(g.cause for g in told).most_common(3))
    return Text(f"    …  {len(told):,} generations more: {causes}", "dim")


def _generation(generation: Generation, columns: Sequence[int]) -> Iterable[Text]:
    indent = _indent(columns)
    yield _facts(generation, columns)
    if generation.cause is not Cause.FIRST_START or generation.absent:
        yield Text(indent + _who(generation))
    for late in _waited_for(generation):
        yield Text(indent + late, "yellow")
    for hindrance in generation.hindrances:
        yield Text(indent + hindrance.words, "yellow")


def _facts(generation: Generation, columns: Sequence[int]) -> Text:
    stable = generation.outcome is Outcome.STABLE
    row = Text(_line(_cells(generation), columns))
    begin = len(_indent(columns))
    row.stylize("bold" if stable else "bold red", begin, begin + columns[CAUSE] - 2 + (0 if stable else columns[3]))
    return row


def _cells(generation: Generation) -> tuple[str, ...]:
    stable = generation.outcome is Outcome.STABLE
    return (
        str(generation.number),
        clock(generation.began_us),
        generation.cause.value,
        span(generation.duration_us) if stable else generation.outcome.value,
        str(generation.size),
        _moved(generation),
        span(generation.stopped_us) if generation.stopped_us else "–",
    )


def _moved(generation: Generation) -> str:
    if not generation.moves:
        return "–"
    back = sum(move.back for move in generation.moves)
    return f"{len(generation.moves)}" + (f" ({back}{BACK})" if back else "")


def _who(generation: Generation) -> str:
    again = "second round: " if generation.follow_up else ""
    who = f"{generation.culprit.host} " if generation.culprit else ""
    return f"{again}{who}{generation.why}"


def _waited_for(generation: Generation) -> Iterable[str]:
    together = [late for late in generation.absent if late.after_us < TOGETHER_US]
    if together:
        names = ", ".join(late.who.host for late in together[:3]) + (", …" if len(together) > 3 else "")
        yield f"removed in the same moment: {names} ({len(together)} in all)"
    shown = sorted((late for late in generation.absent if late not in together), key=lambda one: -one.after_us)
    for late in shown[:3]:
        yield _never_came(late)
    if len(shown) > 3:
        yield f"… and {len(shown) - 3} more never came"
    if generation.late is not None and not shown:
        aside = f" ({generation.late.why})" if generation.late.why else ""
        yield f"last to join: {generation.late.who.host} after {span(generation.late.after_us)}{aside}"


def _never_came(late: Late) -> str:
    why = f" {late.why};" if late.why else ""
    until = REMOVALS.get(late.removal or "", "")
    return f"never came: {late.who.host}{why} waited {span(late.after_us)}, {until}".rstrip(", ")


# --- lanes and partitions ------------------------------------------------------------------------------------------


def _show_lanes(lanes: Sequence[Lane], group: GroupStory, end_us: int, console: Console) -> None:
    shown = _chosen(lanes)
    names = [_short(lane.host) for lane in shown]
    margin = max(4, *(len(name) for name in names)) + 2
    width = max(NARROW, min(console.width, 160) - margin - 6)
    scale = lanes_drawn.Scale(end_us, width, ascii=not lanes_drawn.can_print(console))
    console.print(_row("", margin, lanes_drawn.axis(scale)))
    console.print(_row("gen", margin, lanes_drawn.generations(group.generations, scale)))
    for name, lane in zip(names, shown, strict=True):
        console.print(_row(name, margin, lanes_drawn.lane(lane, scale)))
    if len(shown) < len(lanes):
        console.print(Text(f"{'…':<{margin}}{len(lanes) - len(shown)} more, not drawn", "dim"))
    console.print(_row("", margin, lanes_drawn.legend(shown, scale)))


def _row(name: str, margin: int, drawn: Text) -> Text:
    return Text(f"  {name:<{margin}}").append_text(drawn)


def _short(name: str, longest: int = 24) -> str:
    return name if len(name) <= longest else name[: longest - 1] + "…"


def _chosen(lanes: Sequence[Lane]) -> Sequence[Lane]:
    """All lanes while they fit; else those with trouble first, in their order."""
    if len(lanes) <= MANY_LANES:
        return lanes
    troubled = {id(lane) for lane in lanes if any(part.phase in TROUBLE for part in lane.phases)}
    ranked = sorted(range(len(lanes)), key=lambda index: (id(lanes[index]) not in troubled, index))
    return [lanes[index] for index in sorted(ranked[:MANY_LANES])]


SINCE = {"released": "release", "crashed": "crash", "paused": "pause"}


def _show_standstills(group: GroupStory, console: Console) -> None:
    longest = sorted(group.standstills, key=lambda s: (-s.length_us, s.began_us, s.partition))
    notable = [one for one in longest if one.length_us * SHORT_BESIDE >= longest[0].length_us]
    rows: dict[tuple[str, str, str], list[TopicPartition]] = {}
    for still in notable:
        rows.setdefault((span(still.length_us), _owners(still), _when(still)), []).append(still.partition)
    shown = list(rows.items())[:MANY_STANDSTILLS]
    console.print(Text("  partitions that stood still, longest first", "dim"))
    told = [(length, _short(_together(partitions), LONGEST), *more) for (length, *more), partitions in shown]
    wide, names, owners = (max(len(row[at]) for row in told) for at in range(3))
    for length, partitions, whose, when in told:
        _print_line(console, Text(f"{length:>{max(12, wide + 4)}}  {partitions:<{names}}  {whose:<{owners}}  {when}"))
    number = len(longest) - sum(len(partitions) for _, partitions in shown)
    if number:
        console.print(Text(f"    … {number} more, up to {span(longest[-number].length_us)}", "dim"))


def _together(partitions: Sequence[TopicPartition]) -> str:
    """One partition by its name, several as ranges."""
    return str(partitions[0]) if len(partitions) == 1 else ranges(partition_set(partitions)).plain


def _owners(still: Standstill) -> str:
    if still.target == still.origin:
        return f"{still.origin} kept it"
    return f"{still.origin} → {still.target or 'nobody'}"


def _when(still: Standstill) -> str:
    ended = "the end" if still.open else clock(still.ended_us)
    return f"{clock(still.began_us)} ({SINCE[still.basis]}) – {ended}"


# --- what else was going on ----------------------------------------------------------------------------------------


def _show_doings(story: Story, console: Console) -> None:
    doings = sorted((*story.actions, *story.faults, *story.notes), key=lambda doing: doing.t_us)
    if not doings:
        return
    console.print()
    console.print(Text("  what was done and noted", "dim"))
    shown = doings[:MANY_NOTES]
    wide = max(10, *(len(clock(doing.t_us)) for doing in shown))
    for doing in shown:
        until = f" until {clock(doing.until_us)}" if doing.until_us is not None else ""
        where = f"{doing.host}: " if doing.host and doing.host not in doing.what else ""
        _print_line(console, Text(f"    {clock(doing.t_us):>{wide}}  {where}{doing.what}{until}"))
    if len(doings) > MANY_NOTES:
        console.print(Text(f"    … {len(doings) - MANY_NOTES} more; the trace has them all", "dim"))
