"""The strips of a run's picture. Each draws itself from `y` downwards and returns where the next one begins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from groupsim.scenarios.pictures.scale import TimeScale
from groupsim.scenarios.pictures.svg import SIZE, Picture, cut, folded, width_of
from groupsim.scenarios.story import Generation, GroupStory, Lane, Phase
from groupsim.scenarios.story.model import TimelineEntry
from groupsim.scenarios.story.words import clock, count, span

MARGIN = 16
BAND, LINE = 28, 22
LISTED = 6  # generations in words
DOINGS = 3  # lines of what was done
SHORTEST = 1.5  # pixels of a standstill that is drawn

#: How each phase is drawn: its colour and what the legend says, in the legend's order.
PHASES = {
    Phase.WORKING: ("working", "owns its partitions"),
    Phase.JOINING: ("joining", "joining"),
    Phase.SYNCING: ("syncing", "syncing"),
    Phase.CALLBACK: ("callback", "in a callback"),
    Phase.EVICTED: ("bad", "evicted, unaware"),
    Phase.PAUSED: ("paused", "paused"),
    Phase.DEAD: ("dead", "dead"),
    Phase.OUTSIDE: ("idle", "away"),
}
LOW = (Phase.OUTSIDE, Phase.DEAD)  # drawn as a thin bar: the process does nothing


def axis(picture: Picture, scale: TimeScale, y: float) -> float:
    """The labels of the time axis; `doings` draws its lines, which need the height of what is below."""
    for number, (us, words) in enumerate(scale.ticks):
        end = scale.x(us) + width_of(words) / 2 > picture.width
        picture.text(scale.x(us), y + 12, words, "quiet", anchor="end" if end and number else "middle")
    return y + 18


def generations(picture: Picture, scale: TimeScale, group: GroupStory, y: float) -> float:
    """A band for each rebalance, and one for the generation after it, with its number and its cause."""
    following = [*(one.began_us for one in group.generations[1:]), scale.end_us]
    for one, until in zip(group.generations, following, strict=True):
        hint = in_words(one)
        x, end = scale.x(one.began_us), scale.x(one.ended_us)
        picture.rect(x, y, end - x - 1, BAND, "joining", hint=hint)
        picture.rect(end, y, scale.x(until) - end - 1, BAND, "working", hint=hint)
        for words in (f"{one.number}: {one.cause.value}", f"{one.words.number} {one.number}", f"{one.number}"):
            places = [(a, b) for a, b in ((end, scale.x(until)), (x, end)) if b - a > width_of(words) + 6]
            if places:
                begin, stop = places[0]
                picture.text((begin + stop) / 2, y + 19, words, "ink", anchor="middle")
                break
    return y + BAND


def lanes(picture: Picture, scale: TimeScale, group: GroupStory | None, lanes: Sequence[Lane], y: float) -> float:
    """A lane for each process: what it did, and which partitions it owned."""
    high = 26 if len(lanes) <= 8 else 20
    for lane in lanes:
        picture.text(MARGIN, y + high / 2 + 6, cut(lane.host, scale.left - MARGIN - 6))
        for part in lane.phases:
            colour, words = PHASES[part.phase]
            low = high / 3 if part.phase in LOW else 0
            hint = f"{lane.host}: {words}, {clock(part.began_us)} – {clock(part.ended_us)}"
            length = scale.length(part.ended_us - part.began_us)
            picture.rect(scale.x(part.began_us), y + low, length, high - 2 * low, colour, hint=hint)
        if group is not None:
            _owned(picture, scale, group, lane, y + high / 2 + 6)
        y += high + 6
    return y


def _owned(picture: Picture, scale: TimeScale, group: GroupStory, lane: Lane, y: float) -> None:
    """Names of partitions, where there is room, at the middle of the time in which the member works on them."""
    following = [*(one.began_us for one in group.generations[1:]), scale.end_us]
    for one, until in zip(group.generations, following, strict=True):
        mine = [share for share in one.assignment.shares if share.host == lane.host] if one.assignment else []
        for share in mine:
            words = " ".join(f"{topic} {_ranges(runs)}" for topic, runs in share.partitions.topics)
            working = [part for part in lane.phases if part.phase is Phase.WORKING and part.ended_us > one.ended_us]
            if not working:
                continue
            began, ended = max(working[0].began_us, one.ended_us), min(working[0].ended_us, until)
            if words and scale.length(ended - began) > width_of(words) + 6:
                picture.text((scale.x(began) + scale.x(ended)) / 2, y, words, "ink", anchor="middle")


def _ranges(runs: Sequence[tuple[int, int]]) -> str:
    return "+".join(str(first) if first == last else f"{first}–{last}" for first, last in runs)


def standstills(picture: Picture, scale: TimeScale, group: GroupStory, y: float) -> float:
    """A strip with the times in which partitions had no consumer, the longest first; what overlaps them is within."""
    together = Counter((stop.began_us, stop.ended_us) for stop in group.standstills)
    drawn: list[tuple[int, int]] = []
    for (began, ended), partitions in sorted(together.items(), key=lambda one: (one[0][0] - one[0][1], one[0])):
        if scale.length(ended - began) < SHORTEST or any(began < b and a < ended for a, b in drawn):
            continue
        drawn.append((began, ended))
        x, wide = scale.x(began), scale.length(ended - began)
        length = span(ended - began)
        number = count(partitions, "partition")
        full = f"{number} without a consumer for {length}"
        picture.rect(x, y, wide, 24, "bad", hint=f"{full}, from {clock(began)} to {clock(ended)}")
        words = next(
            (one for one in (full, f"{number}, {length}", length) if wide > width_of(one) + 6),
            "",
        )
        if words:
            picture.text(x + wide / 2, y + 17, words, "page", anchor="middle")
    if not drawn:
        return y
    picture.text(MARGIN, y + 17, "stopped", "bad")
    return y + 30


def doings(picture: Picture, scale: TimeScale, done: Sequence[TimelineEntry], top: float, y: float) -> float:
    """The grid of the axis, and a dashed line for each thing that was done, with words below the lanes."""
    for us, _ in scale.ticks:
        picture.line(scale.x(us), top, scale.x(us), y, "grid")
    ends = [0.0] * DOINGS
    written: list[tuple[float, float, str]] = []
    for doing in done:
        words = cut(doing.what, picture.width - 2 * MARGIN)
        x, wide = scale.x(doing.t_us), width_of(words)
        left = min(x, picture.width - MARGIN - wide)
        row = next((row for row, end in enumerate(ends) if left > end), None)
        picture.line(x, top, x, y if row is None else y + 4 + LINE * row, "bad", dashed=True)
        if row is not None:
            written.append((left, y + 18 + LINE * row, words))
            ends[row] = left + wide + 12
    for left, below, words in written:
        picture.text(left, below, words, "bad", halo=True)
    left_out = len(done) - len(written)
    y += LINE * sum(end > 0 for end in ends) + 4
    if left_out:
        picture.text(picture.width - MARGIN, y + 14, f"… {left_out} more were done", "quiet", anchor="end")
        y += LINE
    return y


def in_words(one: Generation) -> str:
    """A generation in a line: number, cause, why, how long its rebalance took."""
    who = f"{one.culprit.host} " if one.culprit else ""
    why = f", {who}{one.why}" if one.why else ""
    stopped = f", stopped {span(one.stopped_us)}" if one.stopped_us else ""
    return f"{one.number}: {one.cause.value}{why} · {one.outcome.value} after {span(one.duration_us)}{stopped}"


def listed_generations(picture: Picture, group: GroupStory, y: float, *, named: bool) -> float:
    """The generations in words; of many the longest rebalances, in their order."""
    longest = sorted(group.generations, key=lambda one: (-max(one.duration_us, one.stopped_us), one.began_us))[:LISTED]
    chosen = {id(one) for one in longest}
    begin = f"{group.group} " if named else ""
    for one in group.generations:
        if id(one) not in chosen:
            continue
        for number, line in enumerate(folded(f"{begin}{in_words(one)}", picture.width - 2 * MARGIN - 14)):
            picture.text(MARGIN + (14 if number else 0), y + SIZE, line)
            y += LINE
    rest = len(group.generations) - len(chosen)
    if rest:
        picture.text(MARGIN, y + SIZE, f"{count(rest, 'more generation')}, each of them shorter", "quiet")
        y += LINE
    return y


def legend(picture: Picture, lanes: Sequence[Lane], stopped: bool, y: float) -> float:
    """What the colours mean, of the phases that occur."""
    used = {part.phase for lane in lanes for part in lane.phases}
    entries = [entry for phase, entry in PHASES.items() if phase in used]
    if stopped:
        entries.append(("bad", "partitions without a consumer"))
    x = float(MARGIN)
    for colour, words in entries:
        wide = 22 + width_of(words)
        if x + wide > picture.width - MARGIN:
            x, y = float(MARGIN), y + LINE
        picture.rect(x, y + 4, 14, 13, colour)
        picture.text(x + 20, y + 16, words, "quiet")
        x += wide + 16
    return y + LINE
