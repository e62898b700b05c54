"""`groupsim run --svg FILE`: the picture of a run, and the animated picture of one rebalance."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.helpers.front_stage import call

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def rebalance(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The animated picture of the second rebalance of the four scenes."""
    file = tmp_path_factory.mktemp("svg") / "rebalance.svg"
    done = call("run", "four-scenes", "--rebalance", "2", "--svg", file)
    assert (done.exit_code, done.stderr) == (0, f"picture: {file}\n")
    assert "JoinGroup" in done.stdout
    return file.read_text("utf-8")


def test_the_picture_of_a_run_is_that_of_the_docs(tmp_path: Path) -> None:
    """The command writes what docs/pictures/ has, and leaves nothing beside it."""
    done = call("run", "demo", "--svg", tmp_path / "demo.svg")
    assert (done.exit_code, done.stderr) == (0, f"picture: {tmp_path / 'demo.svg'}\n")
    kept = Path(__file__).resolve().parents[4] / "docs" / "pictures" / "demo.svg"
    assert (tmp_path / "demo.svg").read_text("utf-8") == kept.read_text("utf-8")
    assert [path.name for path in tmp_path.iterdir()] == ["demo.svg"]


def test_a_rebalance_is_drawn_in_order(rebalance: str) -> None:
    """Members and coordinator have lifelines, and the requests stand below each other as they were sent."""
    found = [str(one.text) for one in ET.fromstring(rebalance).iter(f"{SVG}text")]
    assert {"coordinator", "c1 (leads)", "c2", "c3"} <= set(found)
    steps = [
        "c3 removed",
        "PreparingRebalance",
        "Heartbeat: REBALANCE_IN_PROGRESS",
        "JoinGroup: parked",
        "SyncGroup: its",
    ]
    places = [next(at for at, line in enumerate(found) if line.startswith(step)) for step in steps]
    assert places == sorted(places)


def test_messages_move_one_after_the_other(rebalance: str) -> None:
    """Each arrow has a dot that moves along it, and its turn comes after that of the arrows above it."""
    moves = re.findall(r'<g class="moves" style="--to:(-?[\d.]+)px;animation-delay:(\d+)ms">', rebalance)
    arrows = re.findall(r'd="M([\d.]+) [\d.]+L([\d.]+) [\d.]+"', rebalance)
    assert [float(to) for to, _ in moves] == [pytest.approx(float(end) - float(begin)) for begin, end in arrows]
    turns = [int(turn) for _, turn in moves]
    assert turns == sorted(turns)
    assert len(set(turns)) > 4
    (whole,) = re.findall(r"animation:(\d+)ms linear infinite", rebalance)
    assert max(turns) < int(whole)


def test_who_prefers_no_motion_sees_all_of_it(rebalance: str) -> None:
    """Without the animation its dots are hidden, and nothing else is."""
    assert "@media (prefers-reduced-motion:reduce){.moves,.now{animation:none}}" in rebalance
    assert ".moves,.now{opacity:0;" in rebalance
    assert not re.findall(r'(opacity|display|visibility)="', rebalance)


def test_both_pictures_of_one_seed_are_the_same(rebalance: str, tmp_path: Path) -> None:
    """A second run writes the same bytes."""
    call("run", "four-scenes", "--rebalance", "2", "--svg", tmp_path / "again.svg")
    assert (tmp_path / "again.svg").read_text("utf-8") == rebalance


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("none/x.svg", "the directory {folder}/none does not exist\n    mkdir -p {folder}/none"),
        ("x.png", "a picture ends in .svg\n    write {folder}/x.svg"),
        (".", "is a directory\n    write {folder}/run.svg"),
    ],
)
def test_a_place_that_cannot_be_written_is_refused_before_the_run(tmp_path: Path, file: str, words: str) -> None:
    """The message names the place and the remedy."""
    done = call("run", "demo", "--svg", tmp_path / file)
    assert (done.exit_code, done.stdout) == (2, "")
    assert words.format(folder=tmp_path) in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("more", [["--seeds", "2"], ["four-scenes"]])
def test_a_picture_is_of_one_run(tmp_path: Path, more: list[str]) -> None:
    """With several seeds or scenarios the option is refused."""
    done = call("run", "demo", *more, "--svg", tmp_path / "x.svg")
    assert done.exit_code == 2
    assert "--svg" in done.stderr
    assert list(tmp_path.iterdir()) == []
