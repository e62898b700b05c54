"""The expectation `order`: it holds for repeated records, and fails for clients that deliver out of order."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from groupsim.members.fetch.fetcher import PullFetcher
from groupsim.members.interfaces import Fetched
from groupsim.scenarios.loading.load import load_text
from groupsim.scenarios.runtime.runner import Run, run_scenario

TEXT = """
run-for: 40s
broker: {version: "4.4"}
topics: {t: {partitions: 2, rate: 100/s}}
groups:
  g: {properties: {auto.offset.reset: earliest, max.poll.records: 20, session.timeout.ms: 6000}, members: {c: 2}}
timeline: [{at: 15s, do: crash, member: c-2}, {at: 20s, do: start, member: c-2}]
expect: [order, {duplicates: ">= 1"}, {lost: 0}]
"""


def ran() -> Run:
    """A group that loses a member and reads some records again."""
    return run_scenario(load_text(TEXT, "order.yaml"), seed=1)


def later_half_first(taken: tuple[Fetched, ...]) -> tuple[Fetched, ...]:
    """Deliver each batch in two halves, the later one first."""
    halves = []
    for one in taken:
        middle = one.count // 2
        later = Fetched(one.partition, one.base + middle, one.count - middle)
        halves += [later, Fetched(one.partition, one.base, middle)] if middle else [one]
    return tuple(halves)


def as_workers_finish(taken: tuple[Fetched, ...]) -> tuple[Fetched, ...]:
    """Deliver record by record, the last one first."""
    return tuple(
        Fetched(one.partition, offset, 1) for one in taken for offset in range(one.base, one.base + one.count)[::-1]
    )


def test_a_group_that_reads_records_again_keeps_the_order() -> None:
    """Records that a crashed member had not committed are delivered again from a committed offset on, in order."""
    assert [str(one) for one in ran().failed] == []


@pytest.mark.parametrize("mix", [later_half_first, as_workers_finish])
def test_a_client_that_hands_records_out_in_another_order_is_found(
    mix: Callable[[tuple[Fetched, ...]], tuple[Fetched, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No record is lost, and `order` alone fails: it names partition, reader, offset and time."""
    take = PullFetcher.take
    monkeypatch.setattr(PullFetcher, "take", lambda fetcher: mix(take(fetcher)))
    (failed,) = ran().failed
    assert failed.expectation.check.NAME == "order"
    assert failed.finding.found.startswith("t-")
    assert " got offset " in failed.finding.found
    assert failed.finding.seqs
