"""Records that producers gave up are listed, with the producer and the error."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

from groupsim.cli.render import timeline
from groupsim.eventloop.trace.events import Kind
from groupsim.scenarios.loading.load import load_text
from groupsim.scenarios.runtime.runner import run_scenario
from groupsim.scenarios.story import Story, tell
from tests.helpers.trace_builders import Tape, formed

SCENARIO = """
run-for: 10s
cluster: {logs: replicated}
topics: {orders: {partitions: 2, replication: 3}}
producers: {shop: {topic: orders, rate: 5/s, record-size: 5000000}}
groups: {billing: {subscribe: [orders], members: {c: {count: 2}}}}
"""


def produce_failed(
    tape: Tape, host: str, count: int, error: str = "NOT_ENOUGH_REPLICAS", topic: str = "orders"
) -> Tape:
    """A producer gives records up."""
    tape.add(Kind.PRODUCE_FAILED, host=host, topic=topic, partition=0, error=error, payload={"count": count})
    return tape


def shown(story: Story) -> str:
    """Return the story as a terminal shows it."""
    out = StringIO()
    timeline.show(story, Console(file=out, width=200))
    return out.getvalue()


def test_what_is_given_up_is_added_up_by_producer_topic_and_error() -> None:
    """Two producers, two errors: three entries, in the order of their first events."""
    tape = produce_failed(produce_failed(formed("c1").at(20), "p1", 3), "p2", 1)
    produce_failed(produce_failed(tape.at(21), "p1", 4), "p1", 2, "MESSAGE_TOO_LARGE")
    found = tell(tape.at(60).end()).given_up
    assert [(one.producer, one.error, one.records) for one in found] == [
        ("p1", "NOT_ENOUGH_REPLICAS", 7),
        ("p2", "NOT_ENOUGH_REPLICAS", 1),
        ("p1", "MESSAGE_TOO_LARGE", 2),
    ]
    assert found[0].first_us == 20_000_000


def test_failed_produces_to_topics_that_no_group_reads_are_listed() -> None:
    """No group reads those records, and still they were not written."""
    text = shown(tell(produce_failed(formed("c1").at(20), "p1", 3, topic="unread").at(60).end()))
    assert "not produced: p1 gave up 3 records for unread: NOT_ENOUGH_REPLICAS, from 0:20.000 on" in text


def test_a_producer_whose_records_are_all_too_large_is_seen() -> None:
    """No record is written, and the timeline has the producer, the number and the error once."""
    story = tell(run_scenario(load_text(SCENARIO)).events)
    (one,) = story.given_up
    assert (one.producer, one.error) == ("shop", "RecordTooLargeException")
    assert 45 <= one.records <= 50
    text = shown(story)
    assert text.count("not produced: ") == 1
    assert f"shop gave up {one.records} records for orders: RecordTooLargeException (50000" in text
