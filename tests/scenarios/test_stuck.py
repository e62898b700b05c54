"""The step `stuck`: a worker that does not finish while poll is called, and its partition."""

from __future__ import annotations

import pytest

from groupsim.eventloop.trace.events import Kind
from groupsim.scenarios.loading.python_api import Draft, scenario
from groupsim.scenarios.story import Cause, Story, tell


def base(commit: str = "sync-after-batch", run_for: str = "100s", client: str = "java-3.9") -> Draft:
    """Two members on four partitions."""
    return (
        scenario("stuck", run_for=run_for)
        .broker(version="3.9")
        .cluster(logs="counted")
        .topic("t", partitions=4, rate="20/s")
        .group("g1", members=2, client=client, commit=commit, properties={"session.timeout.ms": 10_000})
    )


def story_of(draft: Draft) -> Story:
    """The story of a run."""
    return tell(draft.run().events)


@pytest.mark.parametrize("client", ["java-3.9", "librdkafka-2.3", "kafka-python-2.0", "franz-go", "sarama-1.40"])
def test_a_stuck_worker_stops_its_partition_and_nothing_else(client: str) -> None:
    """The headline names partition, owner and length; no rebalance, and the others are processed."""
    run = base(client=client).at("30s").stuck("all", partitions=["t-1"], for_="50s").run()
    story = tell(run.events)
    stall = next(one for one in story.groups[0].generations[0].hindrances if one.cause is Cause.STUCK)
    assert 49_000_000 <= stall.ended_us - stall.began_us <= 51_000_000
    assert story.headline.startswith("no rebalance of g1; t-1 stood still for ")
    assert "while its owner, c-" in story.headline
    assert "sent heartbeats: its worker was stuck" in story.headline
    busy = {e.partition for e in run.events if e.kind is Kind.RECORDS_PROCESSED and 40_000_000 < e.t_us < 79_000_000}
    assert busy == {0, 2, 3}


def test_a_worker_that_comes_back_goes_on_where_it_was() -> None:
    """Its records are finished once, its partition is resumed, and the group catches up."""
    story = story_of(base().at("30s").stuck("all", for_="40s"))
    total = story.totals[0]
    assert (total.duplicates, total.lost) == (0, 0)
    assert total.lag is not None
    assert total.lag.end < 10 < total.lag.most


def test_records_of_a_partition_that_was_lost_meanwhile_come_again() -> None:
    """The next owner begins at the committed offset; the former one does not commit its worker's records."""
    story = story_of(base().at("30s").stuck("c-1", for_="40s").at("35s").restart("c-1", how="crash", downtime="30s"))
    assert story.totals[0].lost == 0
    handed_over = base().at("30s").stuck("c-1", for_="40s").at("35s").remove_member("c-1")
    assert story_of(handed_over).totals[0].lost == 0


def test_auto_commit_commits_what_a_worker_holds() -> None:
    """The library commits the position of poll: a crash loses the records of workers."""
    run = base(commit="auto").at("30s").stuck("c-1", for_="60s").at("45s").crash("c-1").run()
    finished = {(e.partition, n) for e in run.events if e.kind is Kind.RECORDS_PROCESSED for n in _offsets(e.payload)}
    given = {(e.partition, n) for e in run.events if e.kind is Kind.RECORDS_DELIVERED for n in _offsets(e.payload)}
    early = {one for one in given - finished if one[1] < 300}
    assert early, "delivered at 0:30, committed, and finished by no member"


def _offsets(payload: object) -> range:
    assert isinstance(payload, dict)
    return range(payload["base"], payload["base"] + payload["count"])


def test_a_slow_handler_is_lag_and_no_stall() -> None:
    """A slow handler is no standstill: it is at work."""
    story = story_of(base().at("30s").slow_processing("c-1", processing="40s", for_="10s"))
    assert story.headline.startswith("no rebalance: g1 formed")


def test_a_partition_without_traffic_does_not_stand_still() -> None:
    """Without records no partition waits, whatever the worker does."""
    story = story_of(base().at("25s").set_rate("t", rate=0).at("30s").stuck("all", for_="50s"))
    assert story.headline.startswith("no rebalance: g1 formed")


def test_a_stuck_callback_past_the_poll_limit_leaves_the_group() -> None:
    """The poll thread is blocked: a client with a heartbeat thread leaves, and the headline shows it."""
    draft = base(run_for="120s").group(
        "g1",
        members={"c": 1, "late": {"start": "never"}},
        client="java-3.9",
        properties={"max.poll.interval.ms": 45_000, "partition.assignment.strategy": "cooperative-sticky"},
    )
    story = story_of(draft.at("29s").stuck("c", where="callback", for_="80s").at("30s").start("late"))
    first = story.groups[0].rebalances[1]
    assert (first.cause, first.why) == (Cause.POLL_LIMIT, "left: it had not called poll() for max.poll.interval.ms")
    assert "3 × poll-limit" in story.headline
    assert "while their owner, c, sent heartbeats: it was in its revoked callback" in story.headline
