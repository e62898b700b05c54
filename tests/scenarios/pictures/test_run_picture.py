"""The picture of a run: well-formed, complete, bounded, the same each time."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from functools import cache
from textwrap import dedent

import pytest

from groupsim import Story, load_text, run_scenario
from groupsim.scenarios.pictures.run_picture import LANES, WIDTH, run_picture
from groupsim.scenarios.pictures.scale import label
from groupsim.scenarios.pictures.svg import DARK, LIGHT, SIZE, Picture, folded

SVG = "{http://www.w3.org/2000/svg}"
CRASH = """
    title: A crash
    run-for: 60s
    cluster: {logs: counted}
    topics: {orders: {partitions: 6, rate: 1/s}}
    groups: {g1: {properties: {session.timeout.ms: 6000}, members: {c: {count: COUNT, stagger: 5ms}}}}
    timeline: [{at: 20s, do: crash, member: c-2}]
"""


@cache
def crashed(members: int) -> Story:
    """The story of a group in which one member crashes."""
    text = dedent(CRASH).replace("COUNT", str(members))
    return run_scenario(load_text(text, "crash"), seed=0).story


def texts(picture: str) -> list[str]:
    """All lines of text."""
    return [str(one.text) for one in ET.fromstring(picture).iter(f"{SVG}text")]


def test_lanes_generations_and_the_standstill_are_drawn() -> None:
    """Three lanes by name, both generations with their causes, the stop in words, an axis in seconds."""
    picture = run_picture(crashed(3))
    found = texts(picture)
    assert "None" not in found
    assert {"c-1", "c-2", "c-3", "crash c-2", "stopped", "0 s", "60 s"} <= set(found)
    assert any(line.startswith("1: first start, c-1 was the first to join") for line in found)
    assert any(line.startswith("2: session-expiry (crash), c-2 crashed") for line in found)
    hints = [str(one.text) for one in ET.fromstring(picture).iter(f"{SVG}title")]
    assert any(re.match(r"2 partitions without a consumer for \d+\.\d s, from 0:20", hint) for hint in hints)
    assert sum(hint.startswith("c-2: dead, 0:20.000") for hint in hints) == 1


def test_the_title_is_the_headline() -> None:
    """The bold lines at the top are the sentence that the terminal prints first."""
    story = crashed(3)
    bold = [str(one.text) for one in ET.fromstring(run_picture(story)).iter(f"{SVG}text") if one.get("font-weight")]
    assert " ".join(bold).replace("\u00a0", " ").startswith(story.headline)


def test_both_colour_schemes_are_within_and_every_colour_has_a_value() -> None:
    """The picture is light, dark where the reader prefers it, and uses no colour that has no value."""
    picture = run_picture(crashed(3))
    light, dark = picture.split("@media (prefers-color-scheme:dark)")
    for name in set(re.findall(r"var\(--(\w+)\)", picture)):
        assert f"--{name}:{LIGHT[name]};" in light
        assert f"--{name}:{DARK[name]};" in dark.partition("</style>")[0]


def test_text_is_readable_at_400_pixels() -> None:
    """No text is smaller than 10 pixels when the picture is shown 400 pixels wide."""
    sizes = [float(one.get("font-size", 0)) for one in ET.fromstring(run_picture(crashed(3))).iter(f"{SVG}text")]
    assert min(sizes) * 400 / WIDTH >= 10


def test_no_text_begins_or_ends_outside_the_picture() -> None:
    """Where each line of text stands is within the width."""
    for one in ET.fromstring(run_picture(crashed(100))).iter(f"{SVG}text"):
        assert 0 <= float(one.get("x", -1)) <= WIDTH


def test_of_a_hundred_members_those_with_trouble_are_drawn_and_a_line_names_the_rest() -> None:
    """The picture is bounded; the member that crashed is in it."""
    picture = run_picture(crashed(100))
    found = texts(picture)
    lanes = [line for line in found if re.fullmatch(r"c-\d+", line)]
    assert len(lanes) == LANES
    assert "c-2" in lanes
    assert f"{100 - LANES} of 100 lanes are not drawn (c-25, c-26 and 74 more)" in " ".join(found)
    assert len(picture) < 60_000
    assert int(ET.fromstring(picture).get("height", 0)) < 1100


def test_the_same_seed_gives_the_same_bytes() -> None:
    """Two runs of one scenario and one seed are drawn alike; another seed is not."""
    text = dedent(CRASH).replace("COUNT", "3")
    one, two, other = (run_picture(run_scenario(load_text(text, "crash"), seed=seed).story) for seed in (0, 0, 1))
    assert one == two != other


def test_several_groups_have_a_part_each_and_one_can_be_chosen() -> None:
    """Both groups are drawn; with a group, that one alone."""
    story = run_scenario(
        load_text(
            "run-for: 20s\ncluster: {logs: counted}\ntopics: {t: {partitions: 2}}\n"
            "groups: {first: {members: {a: 1}}, second: {members: {b: 1}}}\n",
            "two",
        )
    ).story
    assert {"first", "second", "a", "b"} <= set(texts(run_picture(story)))
    chosen = set(texts(run_picture(story, "second")))
    assert {"second", "b"} <= chosen
    assert not {"first", "a"} & chosen


@pytest.mark.parametrize(
    ("us", "end", "words"),
    [(1_500_000, 60_000_000, "1.5 s"), (90_000_000, 900_000_000, "1:30"), (0, 7_200_000_000, "0:00:00")],
)
def test_an_axis_of_ten_minutes_is_in_seconds(us: int, end: int, words: str) -> None:
    """A longer one is in minutes, or hours."""
    assert label(us, end) == words


def test_any_text_makes_well_formed_xml() -> None:
    """What XML escapes, or does not have at all, comes out of the picture as text."""
    picture = Picture(100, 20, "<a> & b", "\x00")
    picture.text(0, 10, 'x < y & "z" \x1b[0m')
    assert texts(str(picture)) == ['x < y & "z" \ufffd[0m']


def test_a_number_stays_with_its_unit() -> None:
    """A line is not broken between a figure and `s`."""
    assert folded("stopped 43.3 s in all", 13 * SIZE * 0.55) == ["stopped", "43.3\u00a0s in all"]
