"""Records that are pushed instead of fetched (`push-buffer`): deliveries, buffer, and overflow."""

from __future__ import annotations

import pytest

from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.scenarios.language.problems import ScenarioError
from groupsim.scenarios.loading.load import load_text
from groupsim.scenarios.runtime.runner import Run, run_scenario

HEAD = """
run-for: 60s
broker: {version: "4.4", group.initial.rebalance.delay.ms: 0}
cluster: {logs: replicated, brokers: 3}
"""
TOPIC = "topics: {t: {partitions: 2, rate: 100/s, record-size: 1000, replication: 3, steps: [{at: 30s, rate: 0/s}]}}\n"


def ran(member: str, more: str = "", topic: str = TOPIC) -> Run:
    """A run of one consumer that takes 15 ms per record, a third too slow."""
    group = (
        f"processing: 15ms, properties: {{auto.offset.reset: earliest, max.poll.records: 10}}, members: {{c: {member}}}"
    )
    return run_scenario(load_text(f"{HEAD}{topic}groups: {{g: {{{group}}}}}\n{more}", "push.yaml"), seed=1)


def of_kind(run: Run, kind: Kind) -> list[TraceEvent]:
    """The events of one kind."""
    return [event for event in run.events if event.kind is kind]


def delivered(run: Run) -> list[tuple[int, int]]:
    """(partition, offset) of each record a poll returned, in order."""
    found = []
    for event in of_kind(run, Kind.RECORDS_DELIVERED):
        payload = event.payload or {}
        found += [(event.partition or 0, payload["base"] + at) for at in range(payload["count"])]
    return found


@pytest.mark.parametrize(
    "more",
    ["", "timeline: [{at: 10s, do: move-leader, partition: t-0, to: 2}, {at: 20s, do: crash-broker, broker: 1}]"],
    ids=["in peace", "while leaders move"],
)
def test_what_is_pushed_is_delivered_once_and_in_order(more: str) -> None:
    """With enough memory, a pushed consumer gets the records of a fetching one: each once, in order."""
    run = ran("{push-buffer: 1000000000}", more)
    found = delivered(run)
    for partition in (0, 1):
        offsets = [offset for at, offset in found if at == partition]
        assert offsets == list(range(len(offsets)))
        assert len(offsets) > 1_400
    assert of_kind(run, Kind.PROCESS_CRASHED) == []


@pytest.mark.parametrize(
    ("member", "least_ms", "most_ms"),
    [("{push-buffer: 1000000000}", 4_000, 15_000), ("{properties: {max.partition.fetch.bytes: 20000}}", 0, 1_200)],
    ids=["pushed", "pulled"],
)
def test_what_is_pushed_fills_a_slow_link(member: str, least_ms: int, most_ms: int) -> None:
    """100 records of 1,000 bytes a second on a link of 90 kB/s: pushed records queue, and commits wait behind it for
    seconds; a consumer that fetches what it handles leaves room for them.
    """
    slow = "timeline: [{at: 0s, do: bandwidth, member: all, rate: 90 kB/s}]"
    run = ran(member, slow, TOPIC.replace("at: 30s", "at: 50s"))
    sent = {e.correlation: e.t_us for e in of_kind(run, Kind.REQUEST_SENT) if e.api == "OffsetCommit"}
    back = [e for e in of_kind(run, Kind.RESPONSE_RECEIVED) if e.api == "OffsetCommit"]
    longest_ms = max((e.t_us - sent[e.correlation]) // 1_000 for e in back)
    assert least_ms <= longest_ms <= most_ms
    assert of_kind(run, Kind.PROCESS_CRASHED) == []


def test_the_buffer_grows_by_what_is_not_handled_until_the_process_is_killed() -> None:
    """100 records a second arrive, 66 are handled: 34 kB a second stay, and 400 kB of them end the process."""
    run = ran("{push-buffer: 400000}")
    grew = [(event.t_us, (event.payload or {})["bytes"]) for event in of_kind(run, Kind.BUFFER_GREW)]
    (crash,) = of_kind(run, Kind.PROCESS_CRASHED)
    assert [size * 8 // 400_000 for _, size in grew] == list(range(1, 9))
    assert grew[-1][0] <= crash.t_us
    assert (crash.reason or "").startswith("out of memory: 40")
    assert 8_000_000 < crash.t_us < 16_000_000


def test_the_same_consumer_that_pulls_lives() -> None:
    """Without `push-buffer` memory does not grow, and the log holds the other records."""
    run = ran("1")
    assert of_kind(run, Kind.BUFFER_GREW) == []
    assert of_kind(run, Kind.PROCESS_CRASHED) == []
    assert len(delivered(run)) > 2_900


def test_counted_logs_have_nothing_to_push() -> None:
    """The error stands at the key and names the remedy."""
    text = "run-for: 9s\ntopics: {t: 1}\ngroups:\n  g:\n    push-buffer: 1000\n    members: {c: {push-buffer: 9}}\n"
    text += "cluster: {logs: counted}\n"
    with pytest.raises(ScenarioError) as caught:
        load_text(text, "push.yaml")
    assert [str(problem.place) for problem in caught.value.problems] == ["push.yaml:5:18", "push.yaml:6:32"]
    assert "remove `logs: counted`" in caught.value.problems[0].remedy
