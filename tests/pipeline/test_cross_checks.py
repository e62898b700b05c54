"""The cross-checks of docs/cross-checks.md in short: every row's expectation, with a few seeds."""

from __future__ import annotations

import cross_checks
import pytest
from cross_check_runs import FOLDER, Cells, Row, cells_of, distance, experiment_of, may_be, settings, spread, uniform

USUAL = 2
# Distributions need more seeds, long runs have to do with one.
SEEDS = {
    "join": 4,
    "leave": 4,
    "crash": 6,
    "more-partitions": 4,
    "close-without-leave": 6,
    "quick-restarts": 3,
    "heavy-polls": 5,
    "killed-and-back": 6,
    "consumer-first-start": 1,
    "consumer-crash": 4,
    **dict.fromkeys(
        (
            "stuck",
            "rolling",
            "bounce-with-work",
            "continual-starts",
            "loop",
            "session-storm",
            "bounces",
            "fleet",
            "never-rejoins",
            "recreate",
            "stalls",
            "broker-bounce",
            "consumer-broker-bounce",
            "consumer-never-revokes",
            "consumer-rolling",
            "consumer-stuck",
        ),
        1,
    ),
}
# These take tens of seconds even with few seeds: `make cross-checks` runs them.
LONG = {
    "heavy-polls",
    "quick-restarts",
    "continual-starts",
    "never-rejoins",
    "fleet",
    "more-partitions",
    "bounces",
    "consumer-never-revokes",
    "consumer-rolling",
    "consumer-stuck",
}
BASES = ("base", "consumer-base")
EXPERIMENTS = sorted({row.experiment for row in cross_checks.ROWS if row.judge})


def judge(row: Row, cells: Cells) -> str | None:
    """What is wrong with a row; None when nothing is."""
    assert row.judge is not None
    finding = row.judge(cells)
    return None if finding.holds else f"{row.place}, {row.claim}: expected {row.expected}; {finding.measured}"


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in LONG else []) for name in EXPERIMENTS]
)
def test_a_claim_is_as_the_document_says(name: str) -> None:
    """Each expectation that rests on this experiment holds, or fails in the way that its row explains."""
    cells = cells_of(name, SEEDS.get(name, USUAL))
    rows = [row for row in cross_checks.ROWS if row.experiment == name]
    assert [wrong for row in rows if (wrong := judge(row, cells))] == []


def test_every_claim_of_the_reference_has_a_row() -> None:
    """P1, P7 and P8, E1 to E7, S1 to S11, and every scenario of the analytic table, for both protocols."""
    places = " ".join(row.place for row in cross_checks.ROWS)
    scenarios = (
        "first start",
        "one join",
        "graceful leave",
        "crash",
        "static crash",
        "stuck member",
        "more partitions",
        "coordinator failover",
        "rolling restart",
        "rolling restart, static",
    )
    claims = (*(f"5.2 E{number}" for number in range(1, 8)), *(f"5.3 S{number}" for number in range(1, 12)))
    both = [f"5.5 {name}{protocol}" for name in scenarios for protocol in ("", ", consumer")]
    compared = [f"5.1 P{number}" for number in (1, 7, 8)]
    assert [one for one in (*claims, *both, *compared) if one not in places] == []


def test_every_experiment_belongs_to_a_row() -> None:
    """A file beside the base scenario that no row uses would be measured by nobody."""
    assert sorted(path.stem for path in FOLDER.glob("*.yaml") if path.stem not in BASES) == EXPERIMENTS


@pytest.mark.parametrize("row", cross_checks.ROWS, ids=lambda row: f"{row.place}, {row.claim}"[:40])
def test_the_document_shows_each_row_with_its_present_settings(row: Row) -> None:
    """Claim, settings, expectation and verdict stand there as the rows have them; only figures take a run to renew."""
    finding = cross_checks.Finding(True, "measured")
    before, after = cross_checks.table([(row, finding)])[-1].split("| measured |")
    lines = cross_checks.DOC.read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line.startswith(before) and line.endswith(after)]


def test_settings_tell_what_differs_from_the_base() -> None:
    """What is set in every cell, the axes with their labels, and the seeds."""
    assert settings(experiment_of("failover")) == (
        "`run-for: 120s`; `cluster.election: 10s`; assignor: eager, cooperative; how: moved, crashed; seeds 0–9"
    )


def test_a_wrong_distribution_is_told_from_the_right_one() -> None:
    """Numbers crowded in one half are no even draw; evenly spaced ones are."""
    even, crowded = [index / 50 for index in range(50)], [index / 100 for index in range(50)]
    assert distance(even, uniform(0, 1)) < may_be(50) < distance(crowded, uniform(0, 1))


def test_a_spread_names_median_least_and_most() -> None:
    """In seconds, in milliseconds where it is short, as one number where there is only one."""
    assert spread([3_000_000, 1_000_000, 40_000]) == "median 1.0 s (40.0 ms to 3.0 s)"
    assert spread([2_000_000, 2_000_001]) == "2.0 s"
