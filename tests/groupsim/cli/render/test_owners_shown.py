"""Who owns what on a terminal: side by side, in ten lines, at any width, and the same without colours."""

from __future__ import annotations

import json
import re
from itertools import takewhile
from pathlib import Path

import pytest
from typer.testing import CliRunner

from groupsim.cli.app import app
from groupsim.cli.render.owners import MOST_LINES, Cell, Column, loads, picture, ranges
from groupsim.cli.render.owners_columns import columns_of
from groupsim.scenarios.story import partition_set, tell
from tests.helpers.front_stage import call
from tests.helpers.trace_builders import computed, formed

WIDTHS = [60, 80, 100, 160, None]


def held(numbers: object, topic: str = "orders") -> list[tuple[str, int]]:
    """Partitions of one topic."""
    return [(topic, number) for number in numbers]  # type: ignore[attr-defined]


def cell(numbers: object, moved: object = (), topic: str = "orders") -> Cell:
    """A cell of one topic."""
    return Cell(partition_set(held(numbers, topic)), partition_set(held(moved, topic)))


def shown(columns: list[Column], width: int | None, *, everything: bool = False) -> list[str]:
    """The picture as text."""
    return [line.plain for line in picture(columns, width, most=None if everything else MOST_LINES)]


def leaving(members: int, each: int, generations: int = 2) -> list[Column]:
    """The last member leaves in the second generation, and the first takes over; after that one partition wanders."""
    cells = {f"m{n}": cell(range(n * each, (n + 1) * each)) for n in range(members)}
    last = range((members - 1) * each, members * each)
    after = {name: one for name, one in cells.items() if name != f"m{members - 1}"}
    columns = [Column("gen 1", cells)]
    for number in range(2, generations + 1):
        moved = last if number == 2 else [last[number % each]]
        columns.append(Column(f"gen {number}", {**after, "m0": cell([*range(each), *last], moved)}))
    return columns


def test_neighbours_are_ranges_and_what_has_moved_is_marked() -> None:
    """A range is cut where marked partitions begin and end; topics follow each other."""
    partitions = partition_set([*held(range(5)), *held([7]), *held([0, 2], "payments")])
    moved = partition_set([*held([1, 2]), *held([2], "payments")])
    assert ranges(partitions, moved).plain == "orders 0, +1-2, 3-4, 7  payments 0, +2"


@pytest.mark.parametrize("width", WIDTHS)
def test_before_and_after_stand_side_by_side_within_the_width(width: int | None) -> None:
    """Every line fits, both columns are in each, whatever the names and topics are."""
    cells = {"a-name-that-is-longer-than-its-column-may-be": cell(range(0, 90, 2)), "c2": cell(range(1, 90, 2))}
    after = {name: Cell(one.partitions, partition_set(held([1, 0]))) for name, one in cells.items()}
    lines = shown([Column("gen 1", cells), Column("gen 2", after)], width)
    head, *rows = [line for line in lines if "|" in line]
    assert re.search(r"\| gen 1 +\| gen 2", head)
    assert [row.count("|") for row in rows] == [2, 2]
    if width is not None:
        assert max(map(len, lines)) <= width
        assert any("…" in row for row in rows)
    else:
        assert not any("…" in row for row in rows)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(("members", "each", "generations"), [(3, 4, 9), (8, 12, 40), (20, 5, 30), (300, 3, 2)])
def test_the_picture_is_at_most_ten_lines(members: int, each: int, generations: int, width: int | None) -> None:
    """With many members and generations the picture names what it leaves out, and has the last assignment."""
    lines = shown(leaving(members, each, generations), width)
    assert len(lines) <= MOST_LINES
    assert any(f"gen {generations}" in line for line in lines)
    if width is not None:
        assert max(map(len, lines)) <= width


@pytest.mark.parametrize("width", WIDTHS)
def test_everything_is_every_member_and_every_partition(width: int | None) -> None:
    """With `--owners` nothing is cut: a cell goes on below where it is too wide."""
    columns = leaving(20, 40, 3)
    columns = [
        Column(one.title, {name: cell(range(0, 400, 7)) if name == "m3" else of for name, of in one.cells.items()})
        for one in columns
    ]
    lines = shown(columns, width, everything=True)
    text = "\n".join(lines)
    assert "…" not in text
    assert {f"m{n}" for n in range(20)} <= {line.split()[0] for line in lines if line.split()}
    assert all(re.search(rf"\b{number}\b", text) for number in range(0, 400, 7))
    if width is not None:
        assert max(map(len, lines)) <= width


def test_many_members_are_summed_up() -> None:
    """As the textbook says it; unequal ones with the least and the most."""
    assert loads([5] * 20) == "20 members × 5 each"
    assert loads([5] * 14 + [6] * 5) == "19 members × 5 to 6 each (14 × 5, 5 × 6)"
    head, first, second = shown(leaving(20, 5), 120)
    assert "--owners" in head
    assert first.strip() == "gen 1  20 members × 5 each"
    assert second.strip() == "gen 2  19 members × 5 to 10 each (18 × 5, 1 × 10); 5 moved; m0 5 → 10, m19 5 → –"


def test_generations_that_differ_in_nothing_are_one_column() -> None:
    """A member that leaves and takes nothing with it changes the picture; a round without a change does not."""
    tape = formed("c1", "c2")
    for seconds in (10, 20, 30):
        tape.at(seconds).prepare("c1", "LEADER_REJOIN").complete("c1", "c2")
        computed(tape, c1=[0], c2=[1]).stable()
    assert [one.title for one in columns_of(tell(tape.end()).groups[0].generations)] == ["gen 2-4"]


def test_run_shows_the_textbooks_figures() -> None:
    """Two topics of four partitions under range, and what moves when one of three members leaves under sticky."""
    lines = call("run", "textbook-range").stdout.splitlines()
    at = next(n for n, line in enumerate(lines) if line.startswith("  owners"))
    assert [" ".join(line.split()) for line in lines[at + 1 : at + 4]] == [
        "C0 | 4 T0 0-1 T1 0-1",
        "C1 | 2 T0 2 T1 2",
        "C2 | 2 T0 3 T1 3",
    ]
    lines = call("run", "textbook-sticky-leave").stdout.splitlines()
    at = next(n for n, line in enumerate(lines) if line.startswith("  owners"))
    rows = lines[at + 1 : at + 4]
    assert [len(re.findall(r"\+\d", row)) for row in rows] == [1, 0, 2]
    assert rows[1].rstrip().endswith("| –")


def test_run_shows_what_a_cooperative_member_has_revoked() -> None:
    """Between the two generations of a move the partitions have no owner."""
    printed = call("run", "cooperative-members-join-one-by-one").stdout
    assert re.search(r"\(no owner\) .*5  t1 0-4 \(revoked\)", printed)


@pytest.mark.parametrize("columns", [60, 80, 160])
def test_run_stays_within_the_terminal(columns: int) -> None:
    """The lines of the picture that `run` prints fit, and carry no colours where there are none."""
    printed = CliRunner(env={"COLUMNS": str(columns)}).invoke(app, ["run", "four-scenes"]).stdout
    lines = printed[printed.index("  owners") :].splitlines()
    block = list(takewhile(lambda line: "|" in line or "…" in line, lines))
    assert block
    assert len(block) <= MOST_LINES
    assert max(map(len, block)) <= columns
    assert "\x1b" not in printed


def test_run_gives_the_assignment_as_json() -> None:
    """Generation by generation, with what has moved."""
    document = json.loads(call("run", "textbook-sticky-leave", "--json").stdout)
    first, second = (one["assignment"] for one in document["groups"][0]["generations"])
    assert sum(len(share["partitions"]) for share in first["shares"]) == 8
    assert sum(len(share["moved"]) for share in second["shares"]) == 3
    assert document["schema"] == 2


def test_assign_shows_claims_beside_the_result(tmp_path: Path) -> None:
    """Before and after with the same marks; without claims there is no before."""
    path = tmp_path / "group.json"
    members = [{"id": "c1", "topics": ["t"], "owned": [["t", n] for n in range(4)]}, {"id": "c2", "topics": ["t"]}]
    path.write_text(json.dumps({"topics": {"t": {"partitions": 4}}, "members": members}))
    printed = call("assign", path, "--assignor", "sticky").stdout
    assert re.search(r"member \| before +\| after +\(\+ moved\)", printed)
    assert re.search(r"c2 +\| 0 +\| 2  t \+\d", printed)
    cooperative = call("assign", path, "--assignor", "cooperative-sticky").stdout
    assert re.search(r"\(no owner\) \| +\| 2  t \S+ \(revoked\)", cooperative)
    for member in members:
        member.pop("owned", None)
    path.write_text(json.dumps({"topics": {"t": {"partitions": 4}}, "members": members}))
    assert "before" not in call("assign", path, "--assignor", "range").stdout


def test_diff_shows_the_last_assignments_where_they_differ() -> None:
    """Side by side, with what another process has in A marked; the same ones are a line."""
    printed = call("diff", "textbook-sticky-leave", "textbook-roundrobin-leave").stdout
    block = printed[printed.index("owners at the end") :]
    assert re.search(r"\| A: gen 2 +\| B: gen 2", block)
    assert len(re.findall(r"\+\d", block)) == 4
    printed = call("diff", "four-scenes", "four-scenes").stdout
    assert "owners at the end: the same in A and B (earlier assignments are not compared)" in printed
    owners = json.loads(call("diff", "four-scenes", "demo", "--json").stdout)["owners"]
    assert (owners[0]["left"]["number"], owners[0]["same"]) == (3, False)
