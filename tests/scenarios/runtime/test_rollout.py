"""Rollouts as in Kubernetes: the number of pods at any time, and the order of replacement."""

from __future__ import annotations

import pytest

from groupsim.eventloop.trace.events import Kind
from groupsim.scenarios.loading.load import load_text
from groupsim.scenarios.loading.python_api import scenario
from groupsim.scenarios.runtime.runner import Run


def rolled(count: int, **keys: object) -> Run:
    """A rollout of a group at 10 s; starting takes 5 s, becoming ready 1 s."""
    draft = (
        scenario("rollout", run_for="120s")
        .broker(version="3.9", **{"group.initial.rebalance.delay.ms": 0})
        .topic("t", partitions=12, rate="4/s")
        .group("g", members={"pod": {"count": count}})
    )
    return draft.at("10s").do("rolling-restart", start_time="5s", ready_time="1s", **keys).run()


def running(run: Run) -> list[int]:
    """How many processes ran after each start and end, from 10 s on."""
    alive: dict[str, None] = {}
    counts: list[int] = []
    for event in run.events:
        if event.kind is Kind.PROCESS_STARTED and event.host != "producer-t":
            alive[event.host or ""] = None
        elif event.kind in (Kind.PROCESS_STOPPED, Kind.PROCESS_CRASHED):
            alive.pop(event.host or "", None)
        else:
            continue
        if event.t_us >= 10_000_000:
            counts.append(len(alive))
    return counts


def ends(run: Run) -> list[str]:
    """Which processes ended, in order."""
    over = (Kind.PROCESS_STOPPED, Kind.PROCESS_CRASHED)
    return [event.host or "" for event in run.events if event.kind in over]


def test_a_deployment_keeps_to_surge_and_unavailability() -> None:
    """With a surge of 1 and none unavailable there are never fewer pods than before, nor more than one in excess."""
    run = rolled(4, max_unavailable=0, surge=1)
    assert set(running(run)) == {4, 5}
    assert running(run)[-1] == 4
    assert ends(run) == ["pod-1", "pod-2", "pod-3", "pod-4"]


def test_a_deployment_may_let_some_be_missing() -> None:
    """Without a surge, pods end first: one is missing at a time."""
    run = rolled(4, max_unavailable=1, surge=0)
    assert set(running(run)) == {3, 4}


def test_the_defaults_are_kubernetes_own() -> None:
    """25 % of 8: two unavailable, two in excess."""
    counts = running(rolled(8))
    assert (min(counts), max(counts)) >= (6, 8)
    assert max(counts) <= 10
    assert counts[-1] == 8


def test_a_stateful_set_goes_one_by_one_from_the_last() -> None:
    """The same names, never more than one missing."""
    run = rolled(3, kind="statefulset")
    assert ends(run) == ["pod-3", "pod-2", "pod-1"]
    assert running(run) == [2, 3, 2, 3, 2, 3]


def test_recreate_stops_all_before_it_starts_any() -> None:
    """No process runs in between."""
    run = rolled(3, kind="recreate")
    assert running(run) == [2, 1, 0, 1, 2, 3]


def test_pods_can_be_killed() -> None:
    """`how: crash` sends no LeaveGroup."""
    run = rolled(2, kind="statefulset", how="crash")
    assert not [event for event in run.events if event.kind is Kind.REQUEST_SENT and event.api == "LeaveGroup"]
    assert len(ends(run)) == 2


def test_new_pods_of_a_deployment_have_new_names() -> None:
    """The successor of pod-1 of three is pod-4, with its own number."""
    run = rolled(3, max_unavailable=0, surge=1)
    began = (event.host for event in run.events if event.kind is Kind.PROCESS_STARTED)
    assert [host for host in began if host != "producer-t"] == ["pod-1", "pod-2", "pod-3", "pod-4", "pod-5", "pod-6"]


@pytest.mark.parametrize("time", ["start-time: 0s", "ready-time: 1s", "stop-time: 1s", "", "never"])
def test_a_rollout_of_which_nobody_says_how_long_a_pod_takes_is_warned_of(time: str) -> None:
    """It runs, and causes one rebalance; a step with any of the times, or `never`, has no warning."""
    at, rest = ("never", "") if time == "never" else ("9s", time and f", {time}")
    step = f"at: {at}, do: rolling-restart{rest}"
    text = f"run-for: 20s\ntopics: {{t: 1}}\ngroups: {{g: {{members: {{c: 2}}}}}}\ntimeline:\n  - {{{step}}}\n"
    notes = [str(note) for note in load_text(text, "a.yaml").notes]
    reported = [note for note in notes if "replaces all pods within milliseconds" in note]
    assert len(reported) == (0 if time else 1)
    assert all(note.startswith("a.yaml:5:5: warning") and "start-time: 20s" in note for note in reported)


# --- other settings --------------------------------------------------------------------------------------------------

CONSUMER = {"group.protocol": "consumer"}


def moved(kind: str, settings: dict[str, object], **members: object) -> Run:
    """A rollout of two pods to other settings."""
    draft = (
        scenario("to other settings", run_for="120s")
        .broker(version="4.4", **{"group.initial.rebalance.delay.ms": 0})
        .topic("t", partitions=12, rate="4/s")
        .group("g", client="java-4.4", members={"pod": {"count": 2, **members}})
    )
    return draft.at("10s").do("rolling-restart", kind=kind, start_time="5s", properties=settings).run()


def protocols(run: Run) -> list[tuple[str, str]]:
    """Each start of a pod with its protocol, in order."""
    starts = (event for event in run.events if event.kind is Kind.PROCESS_STARTED and event.group)
    return [(event.host or "", (event.payload or {})["config"].get("group.protocol", "classic")) for event in starts]


def test_new_pods_have_other_settings() -> None:
    """A Deployment's new pods have them under new names, and the first of them converts the group."""
    run = moved("deployment", CONSUMER)
    assert protocols(run) == [
        ("pod-1", "classic"), ("pod-2", "classic"), ("pod-3", "consumer"), ("pod-4", "consumer"),
    ]  # fmt: skip
    (converted,) = [event for event in run.events if event.kind is Kind.GROUP_CONVERTED]
    assert (converted.from_, converted.to) == ("classic", "consumer")


@pytest.mark.parametrize("kind", ["statefulset", "recreate"])
def test_pods_of_the_same_name_have_other_settings(kind: str) -> None:
    """Their next lives have them, and no later one goes back."""
    run = moved(kind, CONSUMER)
    assert [protocol for _, protocol in protocols(run)[:4]] == ["classic", "classic", "consumer", "consumer"]
    assert {name for name, _ in protocols(run)} == {"pod-1", "pod-2"}


def test_a_setting_that_is_null_is_taken_away() -> None:
    """A key of the scenario's own, such as `assignor`, gives way to the setting of its name."""
    without = {**CONSUMER, "session.timeout.ms": None, "partition.assignment.strategy": None}
    run = moved("recreate", without, assignor=["range"], properties={"session.timeout.ms": 20_000})
    assert [protocol for _, protocol in protocols(run)] == ["classic", "classic", "consumer", "consumer"]


def test_a_restart_may_have_other_settings() -> None:
    """One process of a group is restarted with another protocol."""
    draft = (
        scenario("one of two", run_for="60s")
        .broker(version="4.4", **{"group.initial.rebalance.delay.ms": 0})
        .topic("t", partitions=12, rate="4/s")
        .group("g", client="java-4.4", members={"pod": {"count": 2}})
    )
    run = draft.at("10s").do("restart", member="pod-2", properties=CONSUMER).run()
    assert protocols(run)[:3] == [("pod-1", "classic"), ("pod-2", "classic"), ("pod-2", "consumer")]
