"""Draw the pictures of docs/pictures/: lanes and generations of real runs, and the states of a group.

python tools/draw_pictures.py            write them
python tools/draw_pictures.py --check    exit 1 when one differs

A picture of a run is what `groupsim run NAME --svg FILE` writes for a library scene; a test compares.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from groupsim import load_file, run_scenario
from groupsim.coordinator.classic.states import TRANSITIONS, State
from groupsim.scenarios.loading.catalogue import find
from groupsim.scenarios.pictures.run_picture import run_picture
from groupsim.scenarios.pictures.svg import Picture

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "pictures"
RUNS = {"demo": "demo.svg", "four-scenes": "four-scenes.svg"}

WIDTH = 880


def pictures() -> dict[str, str]:
    """Each picture by the name of its file."""
    found = {file: run_picture(run_scenario(load_file(find(name)), seed=0).story) for name, file in RUNS.items()}
    return {**found, "states.svg": states_picture()}


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
