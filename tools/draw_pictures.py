"""Draw the pictures of docs/pictures/: lanes and generations of real runs, and the states of a group.

python tools/draw_pictures.py            write them
python tools/draw_pictures.py --check    exit 1 when one differs

A picture shows what the run of a library scene gives with seed 0; a test compares. Nothing in it is drawn that the
story does not have.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

from svg import Picture

from groupsim import Story, load_file, run_scenario, tell
from groupsim.cli.render.lanes import nice_step
from groupsim.coordinator.classic.states import TRANSITIONS, State
from groupsim.scenarios.loading.catalogue import find
from groupsim.scenarios.story.model import GroupStory, Lane, Phase

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "pictures"
RUNS = {"demo": "demo.svg", "four-scenes": "four-scenes.svg"}

WIDTH, LEFT, RIGHT = 880, 92, 24
COLOURS = {
    Phase.OUTSIDE: "idle",
    Phase.JOINING: "joining",
    Phase.SYNCING: "syncing",
    Phase.WORKING: "working",
    Phase.CALLBACK: "callback",
    Phase.EVICTED: "bad",
    Phase.PAUSED: "paused",
    Phase.DEAD: "dead",
}
LEGEND = (
    ("working", "working"),
    ("joining", "waits in JoinGroup"),
    ("dead", "dead"),
    ("idle", "not in the group"),
    ("bad", "partitions without a consumer"),
)


def pictures() -> dict[str, str]:
    """Each picture by the name of its file."""
    found = {file: run_picture(name) for name, file in RUNS.items()}
    return {**found, "states.svg": states_picture()}


def run_picture(name: str) -> str:
    """Generations, lanes and standstills of the first group of a scene, over time."""
    run = run_scenario(load_file(find(name)), seed=0)
    story = tell(run.events)
    group = story.groups[0]
    lanes = [lane for lane in story.lanes if lane.group == group.group]
    height = 216 + 40 * len(lanes)
    picture = Picture(WIDTH, height, f"groupsim run {name}", story.headline)
    end = max(lane.phases[-1].ended_us for lane in lanes)
    scale = Scale(end)
    for at, text in enumerate(folded(story.headline, 104)):
        picture.text(20, 28 + 18 * at, text, size=14, bold=True)
    top = 74
    _axis(picture, scale, top, height - 74)
    _generations(picture, scale, group, top + 8)
    for row, lane in enumerate(lanes):
        _lane(picture, scale, group, lane, top + 52 + 40 * row)
    _stops(picture, scale, group, top + 52 + 40 * len(lanes))
    _doings(picture, scale, story, height - 56)
    x = 20.0
    for colour, text in LEGEND:
        picture.rect(x, height - 18, 12, 10, colour)
        picture.text(x + 17, height - 9, text, "quiet", size=12)
        x += 34 + 6.6 * len(text)
    return str(picture)


class Scale:
    """Virtual time in microseconds as pixels."""

    def __init__(self, end_us: int) -> None:
        self.end_us = end_us

    def x(self, us: int) -> float:
        """Where a moment is drawn."""
        return LEFT + (WIDTH - LEFT - RIGHT) * us / self.end_us


def _axis(picture: Picture, scale: Scale, top: int, bottom: int) -> None:
    for us in range(0, scale.end_us + 1, nice_step(scale.end_us, 6)):
        picture.line(scale.x(us), top, scale.x(us), bottom, "grid")
        label = f"{us // 60_000_000}:{us // 1_000_000 % 60:02d}"
        picture.text(scale.x(us), top - 4, label, "quiet", size=11, anchor="middle")


def _generations(picture: Picture, scale: Scale, group: GroupStory, y: int) -> None:
    picture.text(20, y + 16, group.group, bold=True)
    shown: list[tuple[int, int, str, str]] = []
    for one, after in zip(group.generations, [*group.generations[1:], None], strict=True):
        shown.append((one.began_us, one.ended_us, "joining", f"rebalance {tenths(one.duration_us)}"))
        shown.append((one.ended_us, after.began_us if after else scale.end_us, "working", f"generation {one.number}"))
    for began, ended, colour, text in shown:
        x, wide = scale.x(began), scale.x(ended) - scale.x(began)
        picture.rect(x, y, max(wide - 1, 2), 24, colour)
        if wide > 7 * len(text):
            picture.text(x + wide / 2, y + 16, text, "ink", size=12, anchor="middle")


def tenths(us: int) -> str:
    """A duration in seconds, to a tenth."""
    return f"{us / 1_000_000:.1f} s"


def _lane(picture: Picture, scale: Scale, group: GroupStory, lane: Lane, y: int) -> None:
    picture.text(20, y + 17, lane.host)
    for span in lane.phases:
        x, wide = scale.x(span.began_us), scale.x(span.ended_us) - scale.x(span.began_us)
        low = span.phase in (Phase.OUTSIDE, Phase.DEAD)
        picture.rect(x, y + (9 if low else 0), wide, 6 if low else 24, COLOURS[span.phase])
    for one, after in zip(group.generations, [*group.generations[1:], None], strict=True):
        for share in one.assignment.shares if one.assignment else ():
            if share.host == lane.host:
                words = " ".join(
                    f"{topic} {'+'.join(str(a) if a == b else f'{a}–{b}' for a, b in runs)}"
                    for topic, runs in share.partitions.topics
                )
                dead = next((s.began_us for s in lane.phases if s.phase is Phase.DEAD), scale.end_us)
                until = min(after.began_us if after else scale.end_us, dead)
                x, wide = scale.x(one.ended_us), scale.x(until) - scale.x(one.ended_us)
                if wide > 7 * len(words):
                    picture.text(x + wide / 2, y + 16, words, "ink", size=12, anchor="middle")


def _stops(picture: Picture, scale: Scale, group: GroupStory, y: int) -> None:
    """A lane of its own for the stretches in which partitions stood still for a second or more, the longest first."""
    picture.text(20, y + 15, "stopped", "bad")
    together = Counter((stop.began_us, stop.ended_us) for stop in group.standstills if stop.length_us >= 1_000_000)
    done: list[tuple[int, int]] = []
    for (began, ended), count in sorted(together.items(), key=lambda one: one[0][0] - one[0][1]):
        if any(began < b and a < ended for a, b in done):
            continue
        done.append((began, ended))
        x, wide = scale.x(began), scale.x(ended) - scale.x(began)
        picture.rect(x, y, wide, 22, "bad")
        texts = (f"{count} partitions without a consumer for {tenths(ended - began)}", tenths(ended - began))
        text = next((one for one in texts if wide > 7 * len(one)), None)
        if text:
            picture.text(x + wide / 2, y + 15, text, "page", size=12, anchor="middle")


def _doings(picture: Picture, scale: Scale, story: Story, y: int) -> None:
    """What was done, at a line through all lanes; words that would overlap stand in another row."""
    ends = [0.0, 0.0]
    for doing in story.actions:
        x, wide = scale.x(doing.t_us), 6.6 * len(doing.what)
        picture.line(x, 74, x, y - 12, "bad", dashed=True)
        left = min(x, WIDTH - 12 - wide)
        row = next((row for row, end in enumerate(ends) if left > end), 0)
        picture.text(left, y + 15 * row, doing.what, "bad", size=12)
        ends[row] = left + wide


def folded(text: str, width: int) -> list[str]:
    """The text in lines of at most so many characters."""
    lines, line = [], ""
    for word in text.split():
        if line and len(line) + 1 + len(word) > width:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}".strip()
    return [*lines, line]


#: Where each state stands in the picture: the middle of its box.
PLACES = {
    State.EMPTY: (70, 150),
    State.PREPARING_REBALANCE: (310, 150),
    State.AWAITING_SYNC: (580, 150),
    State.STABLE: (810, 150),
    State.DEAD: (445, 310),
}
BOX = {State.PREPARING_REBALANCE: 180, State.AWAITING_SYNC: 190}


def states_picture() -> str:
    """The states of a classic group, with the causes that lead from one to the next."""
    picture = Picture(WIDTH, 345, "The states of a classic group", "Drawn from the coordinator's table of transitions")
    ways = {
        (state, target): [cause.value for cause, after in causes.items() if after is target]
        for state, causes in TRANSITIONS.items()
        for target in dict.fromkeys(causes.values())
        if target is not state
    }
    for (state, target), causes in ways.items():
        _way(picture, state, target, causes)
    for state, (x, y) in PLACES.items():
        wide = BOX.get(state, 100)
        picture.frame(x - wide / 2, y - 20, wide, 40, "accent")
        picture.text(x, y + 5, state.printed, size=15, anchor="middle", bold=True)
    return str(picture)


def _way(picture: Picture, state: State, target: State, causes: list[str]) -> None:
    (x1, y1), (x2, y2) = PLACES[state], PLACES[target]
    half1, half2 = BOX.get(state, 100) / 2, BOX.get(target, 100) / 2
    if target is State.DEAD:
        picture.arrow(f"M{x1} {y1 + 20}L{x2 + (x1 - x2) * 0.12:.0f} {y2 - 22}", "grid")
        if state is State.STABLE:
            picture.text((x1 + x2) / 2 + 60, (y1 + y2) / 2 + 32, f"from any state: {causes[0]}", "quiet", size=12)
    elif x2 > x1:  # forward: straight, the causes above
        picture.arrow(f"M{x1 + half1} {y1 - 6}L{x2 - half2 - 2} {y2 - 6}")
        middle = (x1 + half1 + x2 - half2) / 2
        for at, cause in enumerate(causes):
            wide = x2 - half2 - x1 - half1
            raised = 14 if wide > 7.2 * len(cause) else 34
            picture.text(middle, y1 - raised - 15 * at, cause, "accent", size=11, anchor="middle")
    else:  # back: an arc, above for far ways, below for near ones
        far = abs(x2 - x1) > 300
        depth = -120 if far else 70
        edge = -20 if far else 20
        picture.arrow(f"M{x1} {y1 + edge}C{x1} {y1 + depth} {x2} {y2 + depth} {x2} {y2 + edge + (-2 if far else 2)}")
        middle = (x1 + x2) / 2
        lines = [", ".join(causes[at : at + 4]) for at in range(0, len(causes), 4)]
        for at, line in enumerate(lines):
            y = y1 + depth - 6 - 14 * (len(lines) - 1 - at) + 22 if far else y1 + depth + 2 + 14 * at
            picture.text(middle, y, line, "accent", size=10, anchor="middle")


def main() -> int:
    """Write the pictures, or check them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare only; exit 1 when one differs")
    check = parser.parse_args().check
    FOLDER.mkdir(exist_ok=True)
    wrong = []
    for name, text in pictures().items():
        path = FOLDER / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            wrong.append(name)
            if not check:
                path.write_text(text, encoding="utf-8")
    if check and wrong:
        print(f"docs/pictures: {', '.join(wrong)} differ: run `python tools/draw_pictures.py`", file=sys.stderr)
    return 1 if check and wrong else 0


if __name__ == "__main__":
    sys.exit(main())
