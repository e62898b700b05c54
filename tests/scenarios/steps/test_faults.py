"""Every fault has the effect of its sentence, has a begin and an end, and leaves no change behind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from groupsim.eventloop.trace.events import Kind
from groupsim.scenarios.language.problems import ScenarioError
from groupsim.scenarios.language.registry import FAULTS
from groupsim.scenarios.loading.load import load_text
from groupsim.scenarios.loading.python_api import Draft, scenario

QUICK = {"session.timeout.ms": 6000, "heartbeat.interval.ms": 1000, "request.timeout.ms": 4000}


def base(**keys: Any) -> Draft:
    """Two consumers on one topic; no initial delay."""
    return (
        scenario("faults", run_for="45s")
        .broker(version="3.9", **{"group.initial.rebalance.delay.ms": 0})
        .cluster(latency="1ms")
        .topic("t", partitions=4, rate="20/s")
        .group("g", members=2, properties=QUICK, **keys)
    )


def expect(draft: Draft, check: str, value: Any = True, **keys: Any) -> None:
    """Run and judge one expectation."""
    run = draft.expect(check, value, **keys).run()
    assert not run.failed, run.failed[0]


def latency(draft: Draft) -> None:
    """Every message takes longer: a request made during it is answered later."""
    slow = draft.at("9s").latency("c-1", add="500ms", for_="10s").at("10s").rejoin("c-1")
    sent = {"kind": "request.sent", "api": "JoinGroup", "host": "c-1", "after": "9.5s"}
    expect(slow, "time-between", from_=sent, to={"kind": "request.received", "api": "JoinGroup"}, is_=">= 500ms")


def break_(draft: Draft) -> None:
    """A request in flight ends in a disconnect."""
    expect(draft.at("10s").break_("c-1"), "event", kind="coordinator.lost", host="c-1", after="9s")


def stall(draft: Draft) -> None:
    """Heartbeats wait; the session ends when they wait too long, and not before."""
    expect(draft.at("10s").stall("c-1", for_="2s"), "event", kind="member.removed", count=0)
    expect(draft.at("10s").stall("c-1", for_="12s"), "event", kind="member.removed", member="c-1", count=1)
    only = draft.at("10s").stall("c-1", for_="12s", connection="coordinator", direction="both")
    expect(only, "event", kind="records.delivered", host="c-1", after="11s", before="15s")


def isolate(draft: Draft) -> None:
    """An isolated member is removed, and joins again afterwards."""
    cut = draft.at("10s").isolate("c-1", for_="12s")
    expect(cut, "event", kind="member.removed", member="c-1", reason="session-expired", count=1)
    expect(cut, "load", is_={"c-1": 2, "c-2": 2})


def refuse(draft: Draft) -> None:
    """A process that has to reconnect cannot."""
    refused = draft.at("10s").refuse("c-1", for_="10s").at("11s").break_("c-1")
    expect(refused, "event", kind="member.removed", member="c-1", reason="session-expired")


def lose_response(draft: Draft) -> None:
    """The broker has performed the request, the client sends it again."""
    lost = draft.at("9s").lose_response("next JoinGroup of c-1").at("10s").rejoin("c-1")
    expect(lost, "event", kind="request.failed", api="JoinGroup", host="c-1", count=1)
    expect(lost, "converges", "30s")
    third = draft.at("10s").lose_response("the third Heartbeat of c-1")
    expect(third, "event", kind="fault.ended", payload={"hits": 1}, after="12s")


def delay_response(draft: Draft) -> None:
    """The response is late."""
    late = draft.at("9s").delay_response("next SyncGroup of c-1", by="1s").at("10s").rejoin("c-1")
    sent = {"kind": "request.sent", "api": "SyncGroup", "host": "c-1", "after": "9s"}
    expect(
        late,
        "time-between",
        from_=sent,
        to={"kind": "response.received", "api": "SyncGroup", "host": "c-1"},
        is_=">= 1s",
    )


def answer_error(draft: Draft) -> None:
    """The broker answers with an error and does not perform the request."""
    wrong = draft.at("10s").answer_error("next Heartbeat of c-1", is_="REBALANCE_IN_PROGRESS")
    expect(wrong, "event", kind="rejoin.requested", host="c-1", reason="already rebalancing")


def fail_append(draft: Draft) -> None:
    """A commit whose append fails is answered with an error."""
    failed = draft.at("10s").fail_append(error="NOT_ENOUGH_REPLICAS").at("10.1s").commit("c-1", offsets={"t-0": 1})
    expect(failed, "event", kind="append.done", error="NOT_ENOUGH_REPLICAS", count=1)


def freeze_broker(draft: Draft) -> None:
    """A whole broker pauses, and then continues."""
    frozen = draft.at("10s").freeze_broker("coordinator", for_="3s")
    expect(frozen, "event", kind="request.received", host="broker-0", after="10.1s", before="12.9s", count=0)
    expect(frozen, "time-between", from_={"kind": "fault.begun"}, to={"kind": "fault.ended"}, is_="3s")
    expect(frozen, "converges", "30s")


def hold_appends(draft: Draft) -> None:
    """No append commits until followers fetch again."""
    held = draft.at("10s").hold_appends(for_="3s").at("10.5s").commit("c-1", offsets={"t-0": 1})
    sent = {"kind": "request.sent", "host": "c-1-by-hand"}
    expect(held, "time-between", from_=sent, to={"kind": "response.received", "host": "c-1-by-hand"}, is_="2.4s..2.7s")


def cut_racks(draft: Draft) -> None:
    """With the controllers in rack a, the broker of rack b is fenced; rack c keeps its own."""
    racks = draft.cluster(logs="replicated", racks=["a", "b", "c"]).topic("t", partitions=3, rate="5/s", replication=3)
    cut = racks.at("5s").cut_racks(racks=["a", "b"], for_="15s", controller="a")
    expect(cut, "event", kind="broker.fenced", after="10s", before="16s", count=1)
    expect(racks.at("5s").cut_racks(racks=["a", "b"], for_="15s"), "event", kind="broker.fenced", count=0)


def isolate_broker(draft: Draft) -> None:
    """Away from the controller it is fenced while clients still reach it; away from clients it still leads."""
    on_brokers = draft.cluster(logs="replicated").topic("t", partitions=3, rate="20/s", replication=3)
    alone = on_brokers.at("10s").isolate_broker(1, from_="controller", for_="20s")
    expect(alone, "event", kind="broker.fenced", after="18s", before="21s", count=1)
    unheard = on_brokers.at("10s").isolate_broker(1, from_="clients", for_="20s")
    expect(unheard, "event", kind="broker.fenced", count=0)
    expect(unheard, "event", kind="records.appended", host="broker-1", after="11s", before="30s", count=0)
    hasty = on_brokers.broker(**{"replica.lag.time.max.ms": 10_000})
    followers = hasty.at("1s").isolate_broker(1, from_="brokers", for_="40s")
    expect(followers, "event", kind="isr.changed", topic="t", after="10s", before="20s")
    expect(followers, "event", kind="broker.fenced", count=0)
    gone = on_brokers.at("10s").isolate_broker(1, for_="20s")
    expect(gone, "event", kind="broker.fenced", count=1)


def freeze_zookeeper(draft: Draft) -> None:
    """No consumer can register or claim a partition during the pause; current owners still consume."""
    old = scenario("old", run_for="45s").broker(version="0.9.0").topic("t", partitions=4, rate="20/s")
    old = old.group("g", client="zookeeper-0.8", members={"c-1": {}, "c-2": {"start": "12s"}})
    frozen = old.at("10s").freeze_zookeeper(for_="9s")
    expect(frozen, "event", kind="member.added", member="c-2", before="19s", count=0)
    expect(frozen, "event", kind="records.delivered", host="c-1", after="15s", before="19s")
    expect(frozen, "load", is_={"c-1": 2, "c-2": 2})


def broker_latency(draft: Draft) -> None:
    """With slow followers, a coordinator's appends commit later."""
    on_brokers = draft.cluster(logs="replicated").topic("t", partitions=3, rate="20/s", replication=3)
    slow = on_brokers.at("9s").broker_latency(add="300ms", for_="20s").at("10.5s").commit("c-1", offsets={"t-0": 1})
    sent, back = {"kind": "request.sent", "host": "c-1-by-hand"}, {"kind": "response.received", "host": "c-1-by-hand"}
    expect(slow, "time-between", from_=sent, to=back, is_=">= 300ms")


def bandwidth(draft: Draft) -> None:
    """A request of about a hundred bytes takes a second at 100 bytes a second, and so do the requests behind it."""
    slow = on_brokers(draft).at("9s").bandwidth("c-1", rate="100 B/s", for_="20s").at("10s").rejoin("c-1")
    sent = {"kind": "request.sent", "api": "JoinGroup", "host": "c-1", "after": "9.5s"}
    expect(slow, "time-between", from_=sent, to={"kind": "request.received", "api": "JoinGroup"}, is_=">= 1s")


def broker_bandwidth(draft: Draft) -> None:
    """A coordinator behind a slow link receives requests later."""
    link: dict[str, Any] = {"broker": "coordinator", "from_": "clients", "rate": "2 kB/s", "for_": "20s"}
    slow = on_brokers(draft).at("9s").broker_bandwidth(**link).at("10s").rejoin("c-1")
    sent = {"kind": "request.sent", "api": "JoinGroup", "host": "c-1", "after": "9.5s"}
    expect(slow, "time-between", from_=sent, to={"kind": "request.received", "api": "JoinGroup"}, is_=">= 50ms")


def on_brokers(draft: Draft) -> Draft:
    """The same with replicated logs."""
    return draft.cluster(logs="replicated").topic("t", partitions=3, rate="20/s", replication=3)


def test_appends_on_brokers_fail_and_are_held_too() -> None:
    """The faults of appends have the same effect on replicated and on counted logs."""
    on_brokers = base().cluster(logs="replicated")
    fail_append(on_brokers)
    hold_appends(on_brokers)
    freeze_broker(on_brokers)


CASES: dict[str, Callable[[Draft], None]] = {
    function.__name__.rstrip("_").replace("_", "-"): function
    for function in (
        latency,
        break_,
        stall,
        isolate,
        refuse,
        lose_response,
        delay_response,
        answer_error,
        fail_append,
        freeze_broker,
        hold_appends,
        isolate_broker,
        cut_racks,
        broker_latency,
        bandwidth,
        broker_bandwidth,
        freeze_zookeeper,
    )
}


@pytest.mark.parametrize("name", CASES)
def test_a_fault_does_what_it_says(name: str) -> None:
    """Each fault of the table has its effect."""
    CASES[name](base())


@pytest.mark.parametrize(
    ("step", "says"),
    [
        ("{at: 9s, do: bandwidth, member: c-1, rate: 300}", "a bandwidth needs a unit\n    write 300 kB/s"),
        ("{at: 9s, do: bandwidth, member: c-1, rate: fast}", "is no bandwidth\n    write for example 300 kB/s"),
        ("{at: 9s, do: bandwidth, member: c-1, rate: 8 bit/s}", "is no bandwidth\n    write for example 300 kB/s"),
        ("{at: 9s, do: broker-bandwidth, rate: 0 kB/s}", "not a whole number of bytes a second"),
        ("{at: 9s, do: bandwidth, member: c-1}", "`rate` is missing"),
    ],
)
def test_a_bandwidth_that_is_none_is_refused(step: str, says: str) -> None:
    """The message names the unit, or the key that is missing."""
    with pytest.raises(ScenarioError) as caught:
        load_text(f"topics: {{t: {{}}}}\ngroups: {{g: {{members: {{c: 1}}}}}}\ntimeline: [{step}]\n")
    assert says in str(caught.value)


@pytest.mark.parametrize("step", ["bandwidth, member: c-1", "broker-bandwidth"])
def test_counted_logs_take_no_bandwidth(step: str) -> None:
    """Without replicated logs the link has no traffic."""
    with pytest.raises(ScenarioError, match="needs replicated logs"):
        load_text(
            "cluster: {logs: counted}\ntopics: {t: {}}\ngroups: {g: {members: {c: 1}}}\n"
            f"timeline: [{{at: 9s, do: {step}, rate: 1 MB/s}}]\n"
        )


def test_every_fault_is_tested() -> None:
    """Every fault has a case here."""
    assert set(CASES) == set(FAULTS)


def test_a_fault_that_lasts_is_shown_from_begin_to_end() -> None:
    """Begin and end share a span, and lie as far apart as the file says."""
    run = base().at("10s").isolate("c-1", for_="12s").run()
    begun = next(event for event in run.events if event.kind is Kind.FAULT_BEGUN)
    ended = next(event for event in run.events if event.kind is Kind.FAULT_ENDED)
    assert (begun.span, ended.t_us - begun.t_us) == (ended.span, 12_000_000)
    assert begun.host == "c-1"
