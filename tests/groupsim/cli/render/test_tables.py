"""Tables on the terminal: columns stay apart and below each other, at any width, after hours, in a pipe."""

from __future__ import annotations

import io
import re
import sys

import pytest
from attrs import evolve

from groupsim.cli.render import records as records_shown
from groupsim.cli.render import timeline
from groupsim.cli.render.screen import USUAL
from groupsim.cli.terminal import Terminal
from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.protocol.messages.group import TopicPartition
from groupsim.scenarios.story import Cause, Move, Story, tell
from groupsim.scenarios.story.model import Account, GroupAccount, Records, TimelineEntry
from groupsim.testing import failure_report
from tests.helpers.trace_builders import formed

HOUR_US = 3_600_000_000
PARTITION = TopicPartition("orders", 0)


def story(later_us: int = 0, moved: int = 1140, back: int = 136) -> Story:
    """Three generations; the second has a long cause and moved many partitions, some of them back."""
    tape = formed("c1", "c2").at(20).start("c3").join("c3").prepare("c3", "ADD_MEMBER").complete("c1", "c2", "c3")
    tape.stable().at(40).remove("c3", "left").prepare("c3", "LEAVE_GROUP").complete("c1", "c2").stable()
    lines_shown = tell(tape.at(60).end())
    group = lines_shown.groups[0]
    moves = tuple(Move(PARTITION, "c1", "c2", back=at < back) for at in range(moved))
    first, second, third = (
        evolve(one, began_us=one.began_us + later_us, ended_us=one.ended_us + later_us) for one in group.generations
    )
    second = evolve(second, cause=Cause.SESSION_STALL, moves=moves)
    doings = (TimelineEntry(5_000_000, "crash c1"), TimelineEntry(5_000_000 + later_us, "start c1"))
    return evolve(lines_shown, groups=(evolve(group, generations=(first, second, third)),), actions=doings)


def printed(lines_shown: Story, monkeypatch: pytest.MonkeyPatch, width: int | None) -> list[str]:
    """The lines that a terminal of this width shows; None: a pipe."""
    if width is None:
        monkeypatch.delenv("COLUMNS", raising=False)
    else:
        monkeypatch.setenv("COLUMNS", str(width))
    output = io.StringIO()
    monkeypatch.setattr(sys, "stdout", output)
    timeline.show(lines_shown, Terminal())
    return output.getvalue().splitlines()


def rows(lines: list[str]) -> list[str]:
    """The header of the table of generations and the lines with facts of one."""
    at = next(number for number, line in enumerate(lines) if line.lstrip().startswith("gen "))
    return [line for line in lines[at : at + 12] if line == lines[at] or line.lstrip()[:2] in ("1 ", "2 ", "3 ")]


def print_records(lines_shown: Story, console: Terminal) -> None:
    """What became of the records of the group."""
    for draw in records_shown.parts("g1", lines_shown):
        draw(console, USUAL)


@pytest.mark.parametrize("width", [60, 80, 100, 160, None])
@pytest.mark.parametrize("later_us", [0, HOUR_US, 30 * HOUR_US])
def test_the_columns_of_generations_stay_apart_and_in_line(
    monkeypatch: pytest.MonkeyPatch, width: int | None, later_us: int
) -> None:
    """Every right-aligned cell ends where its head ends, with a blank before it, whatever hour it is."""
    lines = printed(story(later_us), monkeypatch, width)
    assert re.search(r"\s1140\s+\(136↩\)\s", "\n".join(lines))
    if width == 60:  # too narrow: lines are continued
        return
    shown = rows(lines)
    head, *facts = shown
    assert len(facts) == 3
    ends = [head.index(name) + len(name) for name in ("gen", "began", "ready in", "members", "moved", "stood still")]
    for line in facts:
        for end in ends:
            assert line[end - 1] != " ", line
            assert line[end : end + 1] in ("", " "), line
    assert " 1140 (136↩) " in facts[1]


@pytest.mark.parametrize(("width", "cause"), [(None, "whole"), (120, "whole"), (80, "cut")])
def test_a_cause_is_cut_on_a_narrow_terminal_only(
    monkeypatch: pytest.MonkeyPatch, width: int | None, cause: str
) -> None:
    """A pipe gets the cause whole; a terminal that is too narrow for it gets a mark where it is cut."""
    text = "\n".join(rows(printed(story(), monkeypatch, width)))
    assert ("session-expiry (coordinator stall)" in text) is (cause == "whole")
    assert ("…" in text) is (cause == "cut")


def test_lines_about_a_generation_are_one_line_in_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lines about a generation are not wrapped in a pipe without a width."""
    lines_shown = story()
    group = lines_shown.groups[0]
    long = evolve(group.generations[1], why="was hit by a fault " * 12)
    lines_shown = evolve(
        lines_shown, groups=(evolve(group, generations=(group.generations[0], long, group.generations[2])),)
    )
    assert any(line.count("was hit by a fault") == 12 for line in printed(lines_shown, monkeypatch, None)[1:])
    assert all(len(line) <= 80 for line in printed(lines_shown, monkeypatch, 80))


def test_what_was_done_stays_in_line_after_an_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    """The times of steps end in one column, with hours and without."""
    lines = printed(story(30 * HOUR_US), monkeypatch, 100)
    places = {line.index(words) for line in lines for words in ("crash c1", "start c1") if words in line}
    assert len(places) == 1


def test_millions_of_records_do_not_run_together() -> None:
    """A count of seven figures, or more, has blanks before it."""
    records = Records(written=123_456_789, once=1, again=123_456_788, waiting=123_456_789)
    account = Account("g1", PARTITION, 1, 1, 0, records=records)
    total = GroupAccount("g1", 2, 1, 1, 0, records, None, None)
    lines_shown = evolve(story(), accounts=(account,), totals=(total,))
    output = io.StringIO()
    console = Terminal()
    console.file = output
    print_records(lines_shown, console)
    assert "123,456,789  123,456,788  123,456,789" in output.getvalue()


def test_events_of_a_failure_stay_in_line_after_an_hour() -> None:
    """The kinds of events begin in one column, with hours and without."""
    events = [TraceEvent(1, 1, Kind.ACTION, "c1"), TraceEvent(2, 30 * HOUR_US, Kind.ACTION, "c1")]
    assert len({line.index("action") for line in failure_report.event_lines(events, {})}) == 1


def test_partitions_that_fared_alike_share_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Standstills of the same owners and times, and records of the same figures; short ones are counted."""
    tape = formed("c1", "c2", "c3").own("c3", 3, 4, 5).at(20).crash("c3").at(60).remove("c3", "session-expired")
    tape.prepare("c3", "HEARTBEAT_EXPIRED").release("c1", 0).at(60.01).complete("c1", "c2").stable()
    tape.own("c1", 0, 2, 3, 4, 5)
    lines = printed(tell(tape.at(80).end()), monkeypatch, 100)
    at = next(number for number, line in enumerate(lines) if "stood still, longest" in line)
    assert re.search(r"40\.0 s  orders 2-5  c3 → c1", lines[at + 1])
    assert lines[at + 2].strip() == "… 1 more, up to 10 ms; --all lists them"


def test_partitions_of_the_same_figures_share_a_line() -> None:
    """Partitions with equal figures share a line; a partition of other figures has a line of its own."""
    books = [Records(written=10, once=8, again=2)] * 4 + [Records(written=10, once=7, again=3)]
    accounts = tuple(
        Account("g1", TopicPartition("orders", at), 10, one.again, 0, records=one) for at, one in enumerate(books)
    )
    total = GroupAccount("g1", 5, 50, 11, 0, Records(written=50, once=39, again=11), None, None)
    output = io.StringIO()
    console = Terminal()
    console.file = output
    print_records(evolve(story(), accounts=accounts, totals=(total,)), console)
    rows = [line.split() for line in output.getvalue().splitlines()]
    assert rows[-2:] == [["orders-4", "10", "3"], ["orders", "0-3,", "each", "10", "2"]]
