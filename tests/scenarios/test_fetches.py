"""Fetches are counted by process, and `poll-timeout` is the timeout passed to poll."""

from __future__ import annotations

from collections import Counter

import pytest

from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.eventloop.trace.trace import FULL, NORMAL, Level
from groupsim.scenarios.language.model import Scenario
from groupsim.scenarios.language.problems import ScenarioError
from groupsim.scenarios.loading.load import load_text
from groupsim.scenarios.runtime.runner import Run, run_scenario
from groupsim.scenarios.story import Fetches, tell

HEAD = """
run-for: 60s
broker: {properties: {group.initial.rebalance.delay.ms: 0}}
"""
REPLICATED, COUNTED = "cluster: {brokers: 1}\n", "cluster: {logs: counted}\n"
QUIET = "topics: {quiet: {partitions: 1, replication: 1}}\n"
BUSY = "topics: {orders: {partitions: 4, rate: 3/s, replication: 1}}\n"


def written(group: str, topics: str, more: str, cluster: str) -> Scenario:
    """A scenario of one group g."""
    return load_text(f"{HEAD}{cluster}{topics}groups: {{g: {group}}}\n{more}", "f.yaml")


def ran(group: str, topics: str = QUIET, more: str = "", level: Level = NORMAL, cluster: str = REPLICATED) -> Run:
    """A run of one group g with one member c."""
    return run_scenario(written(group, topics, more, cluster), trace_level=level)


def fetches(run: Run, host: str = "c") -> Fetches:
    """Return the fetches of a process, from the story."""
    (lane,) = [lane for lane in tell(run.events).lanes if lane.host == host]
    assert lane.fetches is not None
    return lane.fetches


def of_api(events: list[TraceEvent], kind: Kind) -> list[TraceEvent]:
    """The events of fetches of one kind."""
    return [event for event in events if event.kind is kind and event.api == "Fetch"]


def test_a_quiet_consumer_sends_a_fetch_every_fetch_max_wait() -> None:
    """At an empty topic 500 ms make 120 fetches a minute, each of which waits at the broker; no trace lists them."""
    run = ran("{members: {c: 1}}")
    found = fetches(run)
    assert 118 <= found.empty <= 120
    assert found.sent == found.empty + 1  # the last is still under way
    assert 59_000_000 <= found.waited_us <= 60_000_000
    assert not of_api(run.events, Kind.REQUEST_SENT)


@pytest.mark.parametrize("setting", ["fetch.max.wait.ms", "fetch.min.bytes"])
def test_a_fetch_that_does_not_wait_is_a_busy_loop(setting: str) -> None:
    """Without a wait, or with a minimum of 0 bytes, a consumer fetches once per round trip."""
    found = fetches(
        ran(f"{{members: {{c: {{properties: {{{setting}: 0}}}}}}}}", cluster="cluster: {brokers: 1, latency: 5ms}\n")
    )
    assert 5_700 <= found.empty <= 6_000
    assert found.waited_us == 0


TROUBLE = """
timeline:
  - {at: 10s, do: pause, member: c, for: 5s}
  - {at: 20s, do: crash, member: c}
  - {at: 22s, do: start, member: c}
  - {at: 30s, do: block-poll, member: c, for: 8s}
  - {at: 40s, do: crash-broker, broker: 0}
  - {at: 45s, do: restart-broker, broker: 0}
"""


@pytest.mark.parametrize("more", ["", TROUBLE], ids=["in peace", "in trouble"])
def test_counts_are_those_of_the_requests_that_a_full_trace_lists(more: str) -> None:
    """A Fetch that stands for its long polls counts as these: over all starts, without the time away from poll."""
    group = "{processing: 20ms, properties: {auto.offset.reset: earliest}, members: {c: 1}}"
    counted, listed = ran(group, BUSY, more), ran(group, BUSY, more, FULL)
    sent = Counter(event.host for event in of_api(listed.events, Kind.REQUEST_SENT))["c"]
    answers = [e for e in of_api(listed.events, Kind.RESPONSE_SENT) if (e.payload or {})["to"] == "c"]
    waited_us = sum((event.payload or {}).get("waited_us", 0) for event in answers)
    exact, merged = fetches(listed), fetches(counted)
    assert exact.sent == sent
    assert exact.waited_us == pytest.approx(waited_us, rel=0.02)  # an answer to the dead is not counted
    for one, other in ((merged.sent, exact.sent), (merged.empty, exact.empty), (merged.waited_us, exact.waited_us)):
        assert one == pytest.approx(other, rel=0.05)


def test_a_poll_timeout_costs_polls_and_no_fetches() -> None:
    """A poll that returns after 100 ms without records leaves its fetch at the broker."""
    assert fetches(ran("{poll-timeout: 100ms, members: {c: 1}}")) == fetches(ran("{members: {c: 1}}"))


def test_an_application_away_from_poll_sends_no_further_fetch() -> None:
    """With a minute's work between two polls there is one fetch, with an empty response meanwhile."""
    run = ran("{poll-timeout: 1s, poll-gap: 70s, members: {c: 1}}")
    assert fetches(run).sent <= 4


def test_a_poll_returns_at_its_timeout_and_the_gap_follows() -> None:
    """With `poll-timeout` and `poll-gap`, poll commits as often."""
    often = ran("{poll-timeout: 100ms, poll-gap: 900ms, members: {c: 1}}", BUSY)
    rarely = ran("{poll-timeout: 100ms, poll-gap: 9900ms, members: {c: 1}}", BUSY)
    delivered = [sum(e.kind is Kind.RECORDS_DELIVERED for e in run.events) for run in (often, rarely)]
    assert delivered[0] > 3 * delivered[1] > 0


def test_counted_logs_have_no_fetches() -> None:
    """Without fetches from brokers none are counted, neither in the trace nor in the story."""
    run = ran("{members: {c: 1}}", "topics: {quiet: 1}\n", cluster=COUNTED)
    assert "fetches" not in (run.events[-1].payload or {})
    assert [lane.fetches for lane in tell(run.events).lanes] == [None]


EXPECTED = """
expect:
  - fetches: {member: c, sent: 119..121, empty: <= 120, waited: 59s..60s}
  - fetches: {group: g, empty: 7}
  - fetches: {sent: 119..121}
"""


def test_an_expectation_holds_the_figures_to_bounds() -> None:
    """Of a process, of a group, of all; the finding is reported."""
    checks = ran("{members: {c: 1}}", more=EXPECTED).checks
    assert [one.holds for one in checks] == [True, False, True]
    assert checks[1].finding.expected == "fetches of g: empty 7"
    assert " empty, waited 59." in checks[1].finding.found


@pytest.mark.parametrize(
    ("group", "more", "says"),
    [
        ("{poll-timeout: 0s, members: {c: 1}}", "", ("6:", "endless polls at one instant", "at least 1ms")),
        ("{poll-timeout: 1us, members: {c: 1}}", "", ("6:", "60,000,000 repetitions", "longer interval")),
        ("{poll-timeout: 100, members: {c: 1}}", "", ("needs a unit", "100ms")),
        ("{members: {c: {poll-timeout: 0s}}}", "", ("endless polls at one instant", "poll-gap")),
        (
            "{client: zookeeper-0.8, poll-timeout: 1s, members: {c: 1}}",
            "",
            ("an iterator in place of poll", "remove the key"),
        ),
        ("{members: {c: 1}}", "expect: [{fetches: {sent: 1}}]", ("no fetches", "counted")),
    ],
)
def test_what_cannot_be_is_refused_with_place_and_remedy(group: str, more: str, says: tuple[str, ...]) -> None:
    """The error comes before a run."""
    with pytest.raises(ScenarioError) as refused:
        written(group, "topics: {quiet: 1}\n", more, COUNTED)
    for part in says:
        assert part in str(refused.value)


def test_a_poll_that_does_not_wait_may_follow_a_gap() -> None:
    """`poll(0)` every 200 ms is a common pattern."""
    run = ran("{poll-timeout: 0s, poll-gap: 200ms, members: {c: 1}}", BUSY)
    assert tell(run.events).groups[0].delivered > 100
