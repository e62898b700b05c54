"""Settings of a group for its members, and of a member for itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.messages.group import Api
from groupsim.scenarios.loading.python_api import Draft, scenario
from groupsim.scenarios.plans.members import member_names, plans, properties_of
from groupsim.scenarios.runtime.runner import Run


def base(members: Any, run_for: str = "30s", **keys: Any) -> Draft:
    """One group on one topic; no initial delay."""
    return (
        scenario("members", run_for=run_for)
        .broker(version="3.9", **{"group.initial.rebalance.delay.ms": 0})
        .topic("t", partitions=4, rate="8/s")
        .group("g", members=members, **keys)
    )


def starts(run: Run) -> dict[str, int]:
    """Return when each process first started; the producer of a topic's rate is left out."""
    found: dict[str, int] = {}
    for event in run.events:
        if event.kind is Kind.PROCESS_STARTED and event.host not in (None, "producer-t"):
            found.setdefault(event.host, event.t_us)
    return found


@pytest.mark.parametrize(
    ("key", "count", "names"),
    [
        ("c", 1, ("c",)),
        ("c", 2, ("c-1", "c-2")),
        ("pod-{n}", 2, ("pod-1", "pod-2")),
        ("pod-{n}", 1, ("pod-1",)),
        ("c", 0, ()),
    ],
)
def test_names_follow_from_key_and_count(key: str, count: int, names: tuple[str, ...]) -> None:
    """One member keeps its name, several are numbered, `{n}` is the place of the number."""
    assert member_names(key, count) == names


def test_members_start_one_after_the_other() -> None:
    """`start` and `stagger` set the time to the microsecond."""
    run = base({"c": {"count": 3, "start": "2s", "stagger": "500ms"}}).run()
    assert starts(run) == {"c-1": 2_000_000, "c-2": 2_500_000, "c-3": 3_000_000}


def test_a_spread_of_starts_is_drawn_from_the_seed() -> None:
    """Each start has its own delay, within the spread, and the same for the same seed."""
    draft = base({"c": {"count": 3, "start-spread": "uniform(1s, 5s)"}})
    first, again, other = (starts(draft.run(seed=seed)) for seed in (1, 1, 2))
    assert first == again != other
    assert len(set(first.values())) == 3
    assert all(1_000_000 <= at <= 5_000_000 for at in first.values())


def test_never_waits_for_a_step() -> None:
    """A member with `start: never` does not run until a step starts it."""
    draft = base({"c": 1, "d": {"start": "never"}})
    assert set(starts(draft.run())) == {"c"}
    assert starts(draft.at("9s").start("d").run())["d"] == 9_000_000


def test_a_member_overrides_its_group_key_by_key() -> None:
    """Properties are merged; a subscription replaces the group's, pattern or not."""
    group = {"properties": {"session.timeout.ms": 9000, "max.poll.records": 5}, "subscribe_pattern": "t.*"}
    own = {"properties": {"session.timeout.ms": 8000}, "subscribe": "t"}
    (plan,) = plans(base({"c": own}, **group).build())
    found = properties_of(plan, Path())
    assert (found["session.timeout.ms"], found["max.poll.records"], found["group.id"]) == (8000, 5, "g")
    assert (plan.spec.subscribe, plan.spec.subscribe_pattern) == (("t",), None)


def test_ids_are_patterns() -> None:
    """Names and numbers are filled in, in the scenario's own keys and in pasted properties."""
    scenario_ = base({"pod": 2}, client_id="{group}-{name}", properties={"group.instance.id": "id-{n}"}).build()
    found = [properties_of(plan, Path()) for plan in plans(scenario_)]
    assert [one["client.id"] for one in found] == ["g-pod-1", "g-pod-2"]
    assert [one["group.instance.id"] for one in found] == ["id-1", "id-2"]


def test_request_versions_can_be_set() -> None:
    """The profile's other versions stay."""
    (plan,) = plans(base({"c": {"versions": {"JoinGroup": 1}}}, client="brod").build())
    assert (plan.profile.versions[Api.JOIN_GROUP], plan.profile.versions[Api.SYNC_GROUP]) == (1, 0)


def test_pauses_come_again_and_again() -> None:
    """The process pauses for the drawn length, then runs until the next pause."""
    run = base({"c": {"pauses": {"every": "5s", "length": "1s"}}}).run()
    paused = [event.t_us for event in run.events if event.kind is Kind.PROCESS_PAUSED]
    resumed = [event.t_us for event in run.events if event.kind is Kind.PROCESS_RESUMED]
    assert paused == [5_000_000, 11_000_000, 17_000_000, 23_000_000, 29_000_000]
    assert resumed == [at + 1_000_000 for at in paused[:4]] + ([30_000_000] if len(resumed) == 5 else [])


def test_a_pause_ends_with_its_life() -> None:
    """A process killed in a pause and started again pauses like any other: it runs as long in between."""
    draft = base({"c": {"pauses": {"every": "uniform(5s, 9s)", "length": "6s"}}}, run_for="2m")
    run = draft.at("11s").crash("c").at("12s").start("c").run()
    paused = [event.t_us for event in run.events if event.kind is Kind.PROCESS_PAUSED]
    resumed = [event.t_us for event in run.events if event.kind is Kind.PROCESS_RESUMED]
    assert len(paused) == 9
    assert min(next(at for at in paused if at > end) - end for end in resumed if end < paused[-1]) >= 5_000_000


def test_a_supervisor_restarts_what_failed_and_nothing_else() -> None:
    """A fenced process restarts after the given time; one that the scenario crashed does not."""
    fenced = base({"a": 1, "b": {"start": "5s"}}, instance_id="same", restart_after="3s").run()
    failed = [event.t_us for event in fenced.events if event.kind is Kind.PROCESS_FAILED]
    begun = [event.t_us for event in fenced.events if event.kind is Kind.PROCESS_STARTED and event.host == "a"]
    assert failed
    assert len(begun) >= 2
    crashed = base({"a": 1}, restart_after="3s").at("5s").crash("a").run()
    assert len([event for event in crashed.events if event.kind is Kind.PROCESS_STARTED and event.host == "a"]) == 1


def test_a_broken_client_is_broken_as_said() -> None:
    """`stuck` is passed on: a client without heartbeats is removed."""
    silent = {"session.timeout.ms": 6000, "enable.auto.commit": False}  # commits keep a session, too
    run = base({"c": {"stuck": ["never-heartbeat"], "properties": silent}}).run()
    removed = [event for event in run.events if event.kind is Kind.MEMBER_REMOVED]
    assert removed[0].reason == "session-expired"
