"""The autoscaler's arithmetic, and its events in the trace."""

from __future__ import annotations

import pytest

from groupsim.eventloop.trace.events import Kind
from groupsim.scenarios.language.problems import ScenarioError
from groupsim.scenarios.loading.python_api import Draft, scenario
from groupsim.scenarios.runtime.autoscaling import Stabilization, growth_limit, wanted
from groupsim.scenarios.story import tell


@pytest.mark.parametrize(
    ("lag", "target", "pods", "expected"),
    [
        (0, 10, 3, 0),
        (1, 10, 0, 1),
        (31, 10, 3, 3),
        (33, 10, 3, 3),
        (34, 10, 3, 4),
        (27, 10, 3, 3),
        (26, 10, 3, 3),
        (20, 10, 3, 2),
        (101, 10, 5, 11),
    ],
)
def test_the_size_is_the_lag_over_the_target_rounded_up(lag: int, target: int, pods: int, expected: int) -> None:
    """The HPA's formula; within 10 % of the target the present size stays."""
    assert wanted(lag, target, pods) == expected


@pytest.mark.parametrize(("pods", "most"), [(1, 5), (4, 8), (5, 10), (20, 40)])
def test_one_look_adds_four_pods_or_doubles_them(pods: int, most: int) -> None:
    """The HPA's default policies for scaling up: 100 % or four pods, whichever is more."""
    assert growth_limit(pods) == most


def test_a_shrink_waits_for_the_window() -> None:
    """The size goes down to the largest one computed within the window, and up at once."""
    window = Stabilization(30)
    assert window.size(0, 2, 6) == 6
    assert window.size(10, 6, 3) == 6
    assert window.size(31, 6, 2) == 3
    assert window.size(41, 3, 2) == 2
    assert window.size(50, 2, 9) == 9


def scaled(logs: str, **keys: object) -> Draft:
    """A group of one that a burst of records meets at 10 s; records take 20 ms."""
    step = {"lag": 50, "sync_period": "5s", "stabilization": "10s", "start_time": "2s", **keys}
    return (
        scenario("scaled", run_for="90s")
        .cluster(logs=logs)
        .broker(version="3.9", **{"group.initial.rebalance.delay.ms": 0})
        .topic("t", partitions=6, rate="10/s")
        .group("g", members={"c": 1}, processing="20ms", properties={"auto.offset.reset": "earliest"})
        .at("10s").burst("t", records=600)
        .at("1s").autoscale(**step)
    )  # fmt: skip


@pytest.mark.parametrize("logs", ["counted", "replicated"])
def test_each_change_of_size_is_an_action_that_names_the_lag(logs: str) -> None:
    """It is the cause of rebalances; no more pods than partitions start, and at the end one is left."""
    run = scaled(logs).run()
    changes = [
        event for event in run.events if event.kind is Kind.ACTION and (event.payload or {}).get("do") == "scale"
    ]
    sizes = [(change.payload or {})["to"] for change in changes]
    assert sizes[0] > 1
    assert max(sizes) <= 6
    assert sizes[-1] == 1
    assert "by the autoscaler, lag " in str(changes[0].reason)
    (group,) = tell(run.events).groups
    whys = [generation.why for generation in group.generations[1:]]
    assert whys
    assert all("autoscaler" in why for why in whys)


def test_limits_hold() -> None:
    """`min` and `max` bound the size whatever the lag is."""
    run = scaled("counted", min=2, max=3).run()
    sizes = [(event.payload or {}).get("to") for event in run.events if event.kind is Kind.ACTION]
    assert set(sizes) - {None} == {2, 3}


def test_a_maximum_below_the_minimum_is_refused() -> None:
    """The error names both keys and the remedy."""
    with pytest.raises(ScenarioError, match="`max: 2` is below `min: 3`"):
        scaled("counted", min=3, max=2).run()


def test_the_size_follows_the_cpu_of_the_pods() -> None:
    """One pod that works all the time at a target of 50 % becomes two; both work half of the time, and stay."""
    run = (
        scenario("cpu", run_for="120s")
        .broker(version="3.9", **{"group.initial.rebalance.delay.ms": 0})
        .topic("t", partitions=6, rate="50/s")
        .group("g", members={"c": 1}, processing="20ms")
        .at("20s").autoscale(cpu_percent=50, sync_period="15s", max=6)
        .run(seed=1)
    )  # fmt: skip
    words = [event.reason for event in run.events if event.kind is Kind.ACTION and "by the autoscaler" in event.reason]
    assert len(words) == 1
    assert words[0].startswith("scale: to 2")
    assert "CPU 9" in words[0] or "CPU 100 %" in words[0]


def test_cpu_is_counted_in_percent_of_the_request() -> None:
    """A pod that uses a tenth of its request while it works is never above a target of 50 %."""
    run = (
        scenario("idle", run_for="90s")
        .topic("t", partitions=6, rate="50/s")
        .group("g", members={"c": 2}, processing="20ms")
        .at("20s").autoscale(cpu_percent=50, busy_percent=10, min=2, sync_period="15s")
        .run(seed=1)
    )  # fmt: skip
    assert not [event for event in run.events if event.kind is Kind.ACTION and "by the autoscaler" in event.reason]


@pytest.mark.parametrize("keys", [{}, {"lag": 5, "cpu_percent": 50}])
def test_an_autoscaler_follows_one_metric(keys: dict[str, int]) -> None:
    """Neither of the two, or both, is refused with the remedy."""
    with pytest.raises(ScenarioError, match="needs either `lag` or `cpu-percent`"):
        scenario("s", run_for="9s").topic("t").group("g", members=1).at("1s").autoscale(**keys).run()


def test_pods_of_a_rollout_are_the_autoscalers() -> None:
    """A shrink after a rollout ends a pod that the rollout has started: the replaced pods are gone."""
    run = (
        scenario("both", run_for="120s")
        .topic("t", partitions=6, rate="1/s")
        .group("g", members={"c": 3})
        .at("10s").rolling_restart(start_time="1s", surge=1)
        .at("60s").autoscale(lag=100, min=1, sync_period="15s", stabilization="0s")
        .run(seed=1)
    )  # fmt: skip
    ended = [event.host for event in run.events if event.kind is Kind.PROCESS_STOPPED]
    assert ended[:3] == ["c-1", "c-2", "c-3"]
    assert sorted(ended[3:]) == ["c-5", "c-6"]
