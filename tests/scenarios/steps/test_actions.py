"""Every action has the effect of its sentence: one small run each, judged on the trace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from groupsim.cluster.config.acl import STANDARD
from groupsim.eventloop.trace.events import Kind
from groupsim.eventloop.trace.sinks import MemorySink
from groupsim.scenarios.language.problems import ScenarioError
from groupsim.scenarios.language.registry import ACTIONS
from groupsim.scenarios.loading.python_api import Draft, scenario
from groupsim.scenarios.runtime.runner import Run, StepError, run_scenario
from groupsim.scenarios.runtime.stage import Stage
from groupsim.scenarios.story import tell

QUICK = {"session.timeout.ms": 6000, "heartbeat.interval.ms": 1000, "metadata.max.age.ms": 2000}


def base(run_for: str = "40s", members: Any = None, **keys: Any) -> Draft:
    """Two consumers on one topic; no initial delay."""
    return (
        scenario("actions", run_for=run_for)
        .broker(version="3.9", **{"group.initial.rebalance.delay.ms": 0})
        .topic("t", partitions=4, rate="20/s")
        .group("g", members={"c": {"count": 2}} if members is None else members, properties=QUICK, **keys)
    )


def happened(run: Run, kind: Kind, **columns: Any) -> int:
    """How often an event happened."""
    return sum(
        event.kind is kind and all(getattr(event, name) == value for name, value in columns.items())
        for event in run.events
    )


def expect(draft: Draft, check: str, value: Any = True, **keys: Any) -> None:
    """Run and judge one expectation."""
    run = draft.expect(check, value, **keys).run()
    assert not run.failed, run.failed[0]


def start(draft: Draft) -> None:
    """A process with `start: never` begins."""
    late = base(members={"c": 1, "late": {"start": "never"}})
    expect(late, "load", is_={"late": 0})
    expect(late.at("5s").start("late"), "load", is_={"late": 2})


def stop(draft: Draft) -> None:
    """It leaves, or stays with `leave: false`."""
    expect(draft.at("10s").stop("c-1"), "event", kind="member.removed", member="c-1", reason="left")
    expect(draft.at("10s").stop("c-1", leave=False), "event", kind="member.removed", reason="session-expired")


def crash(draft: Draft) -> None:
    """It ends without LeaveGroup, and its session ends its membership."""
    silent = draft.at("10s").crash("c-1")
    expect(silent, "event", kind="request.sent", api="LeaveGroup", count=0)
    expect(silent, "event", kind="member.removed", member="c-1", reason="session-expired", count=1)


def pause(draft: Draft) -> None:
    """It has no events until it continues."""
    paused = draft.at("10s").pause("c-1", for_="3s")
    expect(paused, "event", kind="records.delivered", host="c-1", after="10.1s", before="13s", count=0)
    expect(paused, "time-between", from_={"kind": "process.paused"}, to={"kind": "process.resumed"}, is_="3s")


def restart(draft: Draft) -> None:
    """It ends, and runs again after the downtime."""
    again = draft.at("10s").restart("c-1", downtime="4s")
    ends, begins = {"kind": "process.stopped"}, {"kind": "process.started", "host": "c-1"}
    expect(again, "time-between", from_=ends, to=begins, is_="4s")
    expect(draft.at("10s").restart("c-1", how="crash"), "event", kind="process.crashed", count=1)


def rolling_restart(draft: Draft) -> None:
    """Old pods end, new pods with new names take over."""
    rolled = draft.at("10s").rolling_restart(start_time="1s", ready_time="1s")
    expect(rolled, "load", is_={"c-1": 0, "c-2": 0, "c-3": 2, "c-4": 2})


def scale(draft: Draft) -> None:
    """New members are made like the last; the newest stop first."""
    expect(draft.at("10s").scale(3), "load", is_={"c-3": "1..2"})
    expect(draft.at("10s").scale(1), "load", is_={"c-1": 4, "c-2": 0})


def autoscale(draft: Draft) -> None:
    """The group grows with its lag, and shrinks when the lag is gone and the window over."""
    busy = draft.at("5s").slow_processing("all", processing="20ms").at("9s").burst("t", records=600)
    grown = busy.at("5s").autoscale(lag=120, sync_period="5s", stabilization="5s", start_time="1s")
    expect(grown, "load", is_={"c-1": 1, "c-2": 1, "c-3": 1, "c-4": 1}, at="14s")
    expect(grown, "load", is_={"c-1": 4, "c-2": 0}, at="39s")


def subscribe(draft: Draft) -> None:
    """Other topics, or a pattern."""
    two = draft.topic("u", partitions=1).at("10s").subscribe("all", topics="u")
    expect(two, "owner", partition="t-0", is_="nobody")
    expect(draft.topic("u", partitions=1).at("10s").subscribe("c-1", pattern="[tu]"), "every-partition-owned")


def slow_processing(draft: Draft) -> None:
    """Handlers take longer, for a while."""
    slow = draft.at("10s").slow_processing("all", processing="2s", for_="5s")
    expect(slow, "event", kind="records.processed", after="10.5s", before="11.9s", count=0)


def block_poll(draft: Draft) -> None:
    """No poll for a while, but heartbeats."""
    blocked = draft.at("10s").block_poll("c-1", for_="8s")
    expect(blocked, "event", kind="records.delivered", host="c-1", after="10.5s", before="17.9s", count=0)
    expect(blocked, "event", kind="member.removed", count=0)


def block_heartbeats(draft: Draft) -> None:
    """Records are processed without heartbeats: the session ends, unless commits keep it alive."""
    starved = base(members={"c": {"count": 2, "properties": {"enable.auto.commit": False}}})
    starved = starved.at("10s").block_heartbeats("c-1", for_="14s")
    expect(starved, "event", kind="records.delivered", host="c-1", after="12s", before="18s", count=">= 1")
    expect(starved, "event", kind="member.removed", member="c-1", reason="session-expired", count=1)
    expect(draft.at("10s").block_heartbeats("c-1", for_="14s"), "event", kind="member.removed", count=0)
    with pytest.raises(StepError, match="kafkajs sends heartbeats from poll; block poll instead"):
        base(client="kafkajs").at("10s").block_heartbeats("c-1", for_="14s").run()


def block_callback(draft: Draft) -> None:
    """The next callback of that kind takes long."""
    blocked = draft.at("5s").block_callback("c-1", callback="revoked", for_="3s").at("10s").stop("c-2")
    begun = {"kind": "callback.begun", "host": "c-1", "reason": "revoked", "after": "6s"}
    expect(blocked, "time-between", from_=begun, to={"kind": "callback.ended", "host": "c-1"}, is_="3s")


def stuck(draft: Draft) -> None:
    """A worker keeps its partition while poll is called; a callback blocks the poll thread past the limit."""
    worker = draft.at("10s").stuck("all", partitions=["t-0"], for_="20s")
    expect(worker, "event", kind="records.processed", partition=0, after="10.5s", before="29.9s", count=0)
    expect(worker, "event", kind="records.delivered", partition=0, after="10.5s", before="29.9s", count="<= 1")
    expect(worker, "event", kind="records.processed", partition=1, after="29s", before="29.9s", count=">= 1")
    expect(worker, "event", kind="member.removed", count=0)
    expect(worker, "lag", partition="t-0", at="39s", is_="<= 10")
    lost = draft.at("10s").stuck("c-1", for_="20s").at("15s").crash("c-2")
    expect(lost, "lost", 0)
    callback = draft.at("5s").stuck("c-1", where="callback", for_="3s").at("10s").stop("c-2")
    begun = {"kind": "callback.begun", "host": "c-1", "reason": "revoked", "after": "6s"}
    expect(callback, "time-between", from_=begun, to={"kind": "callback.ended", "host": "c-1"}, is_="3s")
    with pytest.raises(ScenarioError, match="needs `where: worker`"):
        draft.at("5s").stuck("c-1", where="callback", partitions=["t-0"], for_="3s").build()


def rejoin(draft: Draft) -> None:
    """The application asks for a rebalance, with a reason."""
    asked = draft.at("10s").rejoin("c-1", reason="because I can")
    expect(asked, "event", kind="rejoin.requested", member="c-1", reason="because I can")


def remove_member(draft: Draft) -> None:
    """An administrator removes a member; it notices and joins again."""
    removed = draft.at("10s").remove_member("c-1", reason="enough")
    expect(removed, "event", kind="member.removed", member="c-1", count=1)
    static = base(instance_id="{name}").at("10s").remove_member("c-1")
    expect(static, "event", kind="member.removed", payload={"instance_id": "c-1"}, count=1)


def commit(draft: Draft) -> None:
    """A commit of a step is accepted with the current generation and refused with the one before."""
    stale = draft.at("10s").commit("c-1", offsets={"t-0": 1}, generation="previous")
    expect(stale, "error", api="OffsetCommit", is_="ILLEGAL_GENERATION", count=1)
    current = draft.at("10s").commit("c-1", offsets={"t-0": 1})
    answered = {"kind": "response.received", "host": "c-1-by-hand", "api": "OffsetCommit"}
    expect(current, "event", **answered)
    expect(current, "event", **answered, error="ILLEGAL_GENERATION", count=0)


def request(draft: Draft) -> None:
    """A raw request reaches the coordinator and is answered."""
    fields = {"generation_id": 99, "member_id": {"member": "c-1"}}
    expect(draft.at("10s").request("Heartbeat", fields=fields), "error", api="Heartbeat", is_="ILLEGAL_GENERATION")
    fields = {"generation_id": "current", "member_id": "stranger"}
    expect(draft.at("10s").request("Heartbeat", fields=fields), "error", api="Heartbeat", is_="UNKNOWN_MEMBER_ID")


def create_topic(draft: Draft) -> None:
    """A new topic exists, and a pattern matches it."""
    by_pattern = base(subscribe_pattern=".*").at("10s").create_topic("u", partitions=2, rate="5/s")
    expect(by_pattern, "event", kind="records.delivered", topic="u")


def add_partitions(draft: Draft) -> None:
    """More partitions; the leader assigns them."""
    expect(draft.at("10s").add_partitions("t", to=6), "load", is_={"c-1": 3, "c-2": 3})


def alter_group_config(draft: Draft) -> None:
    """The brokers know the group's settings, until they are reset."""
    beat = "consumer.heartbeat.interval.ms"
    seen: list[dict[str, str]] = []

    def look(stage: Stage) -> None:
        seen.extend(dict(broker.metadata.image.groups.get("g", {})) for broker in stage.cluster.brokers.values())

    altered = draft.broker(version="4.4").at("10s").alter_group_config(properties={beat: 6000})
    reset = altered.at("20s").alter_group_config(group="g", properties={beat: None})
    run = run_scenario(reset.build(), looks=[(at * 1_000_000, look) for at in (9, 15, 25)])
    assert seen == [{}] * 3 + [{beat: "6000"}] * 3 + [{}] * 3
    words = [event.reason for event in run.events if event.kind is Kind.ACTION]
    assert words == [f"alter-group-config: {beat} 6000", f"alter-group-config: group g, {beat} reset"]


def delete_topic(draft: Draft) -> None:
    """The topic no longer exists."""
    expect(draft.at("10s").delete_topic("t"), "event", kind="metadata.changed", payload={"partitions": 0, "before": 4})


def move_coordinator(draft: Draft) -> None:
    """Another broker coordinates, and has loaded the group."""
    expect(draft.at("10s").move_coordinator(to=1), "event", kind="group.loaded", host="broker-1")
    expect(
        draft.at("10s").move_coordinator(to=1).at("20s").move_coordinator(),
        "event",
        kind="group.loaded",
        host="broker-2",
    )


def set_rate(draft: Draft) -> None:
    """The topic stops growing."""
    expect(draft.at("10s").set_rate("t", rate=0), "event", kind="records.delivered", after="15s", count=0)


def crash_broker(draft: Draft) -> None:
    """The group goes on under another coordinator."""
    expect(draft.at("10s").crash_broker("coordinator"), "event", kind="group.loaded", after="10s")


def restart_broker(draft: Draft) -> None:
    """A crashed broker returns after the session of its former start, and can coordinate again."""
    back = draft.at("5s").move_coordinator(to=1).at("10s").crash_broker(1).at("15s").restart_broker(1)
    expect(back.at("30s").move_coordinator(to=1), "event", kind="group.loaded", host="broker-1", after="30s")


def on_brokers(draft: Draft) -> Draft:
    """The same on brokers with logs: three replicas, led by 0, 1, 2 and 0."""
    placed = [[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 2, 1]]
    return draft.cluster(logs="replicated").topic("t", partitions=4, rate="20/s", replicas=placed)


def stop_broker(draft: Draft) -> None:
    """It moves its leaderships, so no member waits for a session to end; then it is down."""
    stopped = on_brokers(draft).at("20s").stop_broker(1)
    moved = {"kind": "partition.leader", "topic": "t", "partition": 1, "from": "1", "after": "20s"}
    expect(stopped, "time-between", from_={"kind": "action"}, to=moved, is_="<= 500ms")
    expect(stopped, "event", kind="broker.fenced", after="20s")


def roll_brokers(draft: Draft) -> None:
    """Each of the three is let in again by the controller once."""
    rolled = on_brokers(draft).at("15s").roll_brokers(downtime="1s", wait="started")
    expect(rolled, "event", kind="broker.unfenced", after="15s", count=3)


def move_leader(draft: Draft) -> None:
    """The named replica leads."""
    moved = on_brokers(draft).at("20s").move_leader("t-0", to=2)
    expect(moved, "event", kind="partition.leader", topic="t", partition=0, to="2", after="19s", count=1)


def elect_leaders(draft: Draft) -> None:
    """The preferred replica leads again."""
    moved = on_brokers(draft).at("20s").move_leader("t-0", to=2).at("21s").crash_broker(0).at("31s").restart_broker(0)
    back = moved.at("38s").elect_leaders(partitions=["t-1"])
    expect(back, "event", kind="partition.leader", partition=0, after="38s", count=0)
    down = on_brokers(draft).at("5s").crash_broker(1).at("20s").restart_broker(1).at("30s").elect_leaders()
    expect(down, "event", kind="partition.leader", topic="t", partition=1, to="1", after="29s", count=1)


def add_acls(draft: Draft) -> None:
    """From the step on a denying ACL has its effect (test_authorizer.py tests ACLs)."""
    denied = guarded(draft).at("20s").add_acls([{"deny": "Read", "group": "*"}])
    expect(denied, "error", is_="GROUP_AUTHORIZATION_FAILED", after="20s")
    expect(denied, "event", kind="response.received", error="GROUP_AUTHORIZATION_FAILED", before="20s", count=0)


def remove_acls(draft: Draft) -> None:
    """From the step on the operation of the deleted ACL is refused."""
    expect(guarded(draft).at("20s").remove_acls([EVERYTHING]), "error", is_="GROUP_AUTHORIZATION_FAILED", after="20s")


EVERYTHING = {"allow": "All", "group": "*"}


def guarded(draft: Draft) -> Draft:
    """Brokers with an authorizer, and ACLs that allow all operations of a group."""
    acls = [{"allow": "All", "topic": "*"}, EVERYTHING]
    return on_brokers(draft).cluster(acls=acls).broker(**{"authorizer.class.name": STANDARD})


def burst(draft: Draft) -> None:
    """That many more records, in counted and in replicated logs."""
    ends = [_end(one) for one in (draft, draft.at("20s").burst("t", records=400))]
    assert ends[1] - ends[0] == 400
    ends = [_end(on_brokers(one)) for one in (draft, draft.at("20s").burst("t", records=400))]
    assert ends[1] - ends[0] == 400


def _end(draft: Draft) -> int:
    reported = next(event for event in draft.run().events if event.kind is Kind.LOG_ENDS)
    return sum(end for _, end, _ in (reported.payload or {})["ends"].values())


CASES: dict[str, Callable[[Draft], None]] = {
    function.__name__.replace("_", "-"): function
    for function in (
        start,
        stop,
        crash,
        pause,
        restart,
        rolling_restart,
        scale,
        autoscale,
        subscribe,
        slow_processing,
        block_poll,
        block_heartbeats,
        block_callback,
        stuck,
        rejoin,
        remove_member,
        commit,
        request,
        create_topic,
        add_partitions,
        alter_group_config,
        delete_topic,
        move_coordinator,
        set_rate,
        crash_broker,
        restart_broker,
        stop_broker,
        roll_brokers,
        move_leader,
        elect_leaders,
        add_acls,
        remove_acls,
        burst,
    )
}


@pytest.mark.parametrize("name", CASES)
def test_an_action_does_what_it_says(name: str) -> None:
    """Each action of the table has its effect."""
    CASES[name](base())


def test_every_action_is_tested() -> None:
    """Every action has a case here."""
    assert set(CASES) == set(ACTIONS)


def test_an_action_is_told_and_is_the_cause_of_what_follows() -> None:
    """The event of the action is the cause of the crash."""
    run = base().at("10s").crash("c-1").run()
    reported = next(event for event in run.events if event.kind is Kind.ACTION)
    crashed = next(event for event in run.events if event.kind is Kind.PROCESS_CRASHED)
    assert (reported.host, reported.reason, reported.payload) == (
        "c-1",
        "crash c-1",
        {"do": "crash", "member": ["c-1"]},
    )
    assert crashed.cause == reported.seq


def test_a_step_may_repeat() -> None:
    """`every` and `times` repeat a step; without `times` until the end."""
    run = base().at("10s", every="3s", times=3).rejoin("c-1").run()
    assert [event.t_us for event in run.events if event.kind is Kind.ACTION] == [10_000_000, 13_000_000, 16_000_000]
    assert happened(base().at("30s", every="5s").rejoin("c-1").run(), Kind.ACTION) == 3


def test_a_step_that_is_never_due_is_not_carried_out() -> None:
    """`at: never` keeps a step in the file for an experiment that sets its time."""
    assert happened(base().at("never").crash("c-1").at("never", every="5s").rejoin("c-1").run(), Kind.ACTION) == 0


def test_a_step_that_cannot_be_done_ends_the_run() -> None:
    """The error names the step, the time and the reason."""
    with pytest.raises(StepError, match=r"step `delete-topic t` at 20\.000 s: .*there is no topic 't'"):
        base().at("10s").delete_topic("t").at("20s").delete_topic("t").run()


def test_a_step_that_is_refused_says_so_in_the_trace() -> None:
    """The trace has the action, and after it the refusal with its reason."""
    sink = MemorySink()
    with pytest.raises(StepError):
        base().at("20s").restart_broker("coordinator").run(sinks=[sink])
    action, refused = (event for event in sink.events if event.kind in (Kind.ACTION, Kind.ACTION_REFUSED))
    assert (action.kind, refused.kind, refused.cause) == (Kind.ACTION, Kind.ACTION_REFUSED, action.seq)
    assert refused.payload == {"action": action.reason}
    assert refused.reason is not None
    assert "is running" in refused.reason
    assert tell(sink.events).actions[0].what == f"{action.reason} (refused: {refused.reason})"


@pytest.mark.parametrize("logs", ["counted", "replicated"])
def test_a_broker_that_runs_cannot_be_brought_back(logs: str) -> None:
    """`restart-broker` of a running broker is refused, with the remedy or the brokers that are down."""
    with pytest.raises(StepError, match=r"restart-broker.* at 20\.000 s: broker \d is running; .*`crash-broker`"):
        base().cluster(logs=logs).at("20s").restart_broker("coordinator").run()
    down = base().cluster(logs=logs).at("10s", every="1h").crash_broker(1).at("35s")
    with pytest.raises(StepError, match=r"broker \d is running; brokers that are down: 1\b"):
        down.restart_broker("coordinator").run()


@pytest.mark.parametrize(("logs", "action"), [("counted", "crash"), ("replicated", "crash"), ("replicated", "stop")])
def test_a_broker_that_ends_is_brought_back_by_its_supervisor(logs: str, action: str) -> None:
    """With `restart-after` a broker whose number is not known beforehand returns: the coordinator."""
    looks: list[list[bool]] = []

    def look(stage: Stage) -> None:
        looks.append([broker.host.alive for broker in stage.cluster.brokers.values()])

    ended = base().cluster(logs=logs).at("10s")
    built = getattr(ended, f"{action}_broker")("coordinator", restart_after="10s").build()
    run_scenario(built, looks=[(at * 1_000_000, look) for at in (15, 30)])
    assert [before.count(False) for before in looks] == [1, 0]


@pytest.mark.parametrize(
    ("logs", "action"), [("counted", "crash_broker"), ("replicated", "crash_broker"), ("replicated", "stop_broker")]
)
def test_a_broker_that_is_down_cannot_be_ended(logs: str, action: str) -> None:
    """`crash-broker` and `stop-broker` of a broker that is down are refused, with the remedy."""
    down = base().cluster(logs=logs).at("10s", every="1h").crash_broker(1)
    with pytest.raises(StepError, match=r"at 20\.000 s: broker 1 is down already; .*`restart-broker`"):
        getattr(down.at("20s"), action)(1).run()


@pytest.mark.parametrize(
    ("target", "hosts"),
    [
        ("c-1", ["c-1"]),
        (["c-1", "c-2"], ["c-1", "c-2"]),
        ("c-*", ["c-1", "c-2"]),
        ("all", ["c-1", "c-2"]),
        ("member 2", ["c-2"]),
    ],
)
def test_targets_are_names_patterns_and_roles(target: Any, hosts: list[str]) -> None:
    """Only the target processes crash."""
    run = base().at("10s").crash(target).run()
    assert sorted(event.host or "" for event in run.events if event.kind is Kind.PROCESS_CRASHED) == hosts


def test_the_leader_is_whoever_leads_when_the_step_runs() -> None:
    """`leader` is resolved at the time of the step."""
    run = base().at("10s").crash("leader").run()
    leader = [event.member for event in run.events if event.kind is Kind.LEADER_ELECTED and event.t_us < 10_000_000][-1]
    crashed = next(event for event in run.events if event.kind is Kind.PROCESS_CRASHED)
    assert crashed.member == leader


@pytest.mark.parametrize(
    ("properties", "version", "message"),
    [
        ({"consumer.heartbeat.interval.ms": 1}, "4.4", "must be in the range 5000 to 15000 inclusive"),
        ({"consumer.heartbeat.interval": 6000}, "4.4", "did you mean `consumer.heartbeat.interval.ms`"),
        ({"consumer.assignment.interval.ms": 0}, "4.2", "write broker.version 4.3 or newer"),
    ],
)
def test_settings_of_a_group_that_brokers_refuse_are_found_before_the_run(
    properties: dict[str, object], version: str, message: str
) -> None:
    """By the rules of the scenario's own brokers, with the remedy."""
    with pytest.raises(ScenarioError, match=message):
        base().broker(version=version).at("10s").alter_group_config(properties=properties).build()
