"""Write the part `timeline` of a drafted scenario: a rollout of each group, and the autoscalers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from groupsim.protocol.values import frozen
from groupsim.scenarios.drafting.facts import AutoscalerFacts, Fact, Workload
from groupsim.scenarios.drafting.groups import members_of
from groupsim.scenarios.drafting.guesses import GUESSES, START_S
from groupsim.scenarios.drafting.plan import Group, Pods
from groupsim.scenarios.drafting.sheet import Sheet, scalar
from groupsim.scenarios.drafting.spring import concurrency_of
from groupsim.scenarios.language.values import read_share

BEGIN_S = 120
"""When the rollout begins; the group is stable by then."""
_REST_S = 180
_LEAST_S, _MOST_S = 480, 7_200
_WITH_AUTOSCALER_S = 600
STABILIZATION_S = 300
"""Kubernetes' default of scaleDown.stabilizationWindowSeconds."""


@frozen
class Ready:
    """The time from a consumer's start until its pod is ready: from `least` to `most` seconds."""

    least: int
    most: int
    source: str

    @property
    def text(self) -> str:
        """The value of `ready-time`."""
        return f"{self.least}s" if self.least == self.most else f"uniform({self.least}s, {self.most}s)"


def write_timeline(sheet: Sheet, groups: Sequence[Group]) -> None:
    """Write a rollout for each group, and its autoscalers."""
    sheet.open(0, "timeline")
    for group in groups:
        for pods in group.pods:
            if pods.autoscaler is not None:
                _autoscale(sheet, group, pods, pods.autoscaler)
        _roll(sheet, group)


def run_for_s(groups: Sequence[Group]) -> int:
    """Return a duration in which every rollout ends and the groups become stable again (s)."""
    ends = [_rollout_s(group.pods[0]) for group in groups]
    end = BEGIN_S + max(ends, default=0) + _REST_S
    scaled = any(pods.autoscaler is not None for group in groups for pods in group.pods)
    least = _WITH_AUTOSCALER_S if scaled else _LEAST_S
    return min(_MOST_S, -(-max(end, least) // 60) * 60)


def _rollout_s(pods: Pods) -> int:
    """Return an upper bound of a rollout's duration (s)."""
    count, workload = members_of(pods)[0], pods.workload
    one = START_S + ready_of(workload).most + 30
    if workload is None or workload.rollout["kind"].value == "recreate":
        return 2 * one
    at_once = 1
    if workload.rollout["kind"].value == "deployment":
        shares = [workload.rollout.get(key) for key in ("max-unavailable", "surge")]
        at_once = max(1, sum(_share(fact, count, up) for fact, up in zip(shares, (False, True), strict=True)))
    return -(-count // at_once) * one


def _share(fact: Fact[str] | None, count: int, round_up: bool) -> int:
    written = fact.value if fact is not None else "25%"
    try:
        return read_share(int(written) if written.isdecimal() else written).of(count, round_up=round_up)
    except ValueError:
        return 1


def ready_of(workload: Workload | None) -> Ready:
    """Return when a pod is available: at a readiness probe after the start, and `minReadySeconds` later."""
    if workload is None:
        return Ready(0, 0, "")
    least, most, words = 0, 0, []
    if workload.first_probe_s is not None:
        least = max(0, workload.first_probe_s.value - START_S)
        most = least + workload.probe_period_s
        words.append(workload.first_probe_s.source)
    if workload.minimum_ready_s is not None:
        least, most = least + workload.minimum_ready_s.value, most + workload.minimum_ready_s.value
        words.append(workload.minimum_ready_s.source)
    return Ready(least, most, " and ".join(words))


# --- steps -----------------------------------------------------------------------------------------------------


def _roll(sheet: Sheet, group: Group) -> None:
    pods = group.pods[0]
    workload = pods.workload
    if len(group.pods) > 1:
        sheet.note(1, f"The group has pods of several workloads; all are replaced as those of {pods.name}.")
    sheet.item("at", f"{BEGIN_S // 60}m")
    sheet.value(2, "do", "rolling-restart")
    sheet.value(2, "group", scalar(group.id))
    for key, value, source in _keys(pods):
        sheet.value(2, key, value, source)
    sheet.ask(2, "start-time")
    sheet.value(2, "start-time", GUESSES["start-time"].value)
    ready = ready_of(workload)
    if ready.most:
        sheet.value(2, "ready-time", ready.text, ready.source)
    if workload is None or "stop-time" not in workload.rollout:
        sheet.ask(2, "stop-time")


def _keys(pods: Pods) -> Iterator[tuple[str, str, Fact[str] | str]]:
    """Yield the keys that the manifest sets; absolute numbers count pods, so concurrency multiplies them."""
    concurrency = concurrency_of(pods.consumer)
    times = concurrency.value if concurrency is not None else 1
    for key, fact in (pods.workload.rollout if pods.workload is not None else {}).items():
        whole = key in ("max-unavailable", "surge") and fact.value.isdecimal()
        yield key, str(int(fact.value) * times) if whole else _quoted(fact.value), fact


def _quoted(text: str) -> str:
    return f'"{text}"' if text.endswith("%") else text


def _autoscale(sheet: Sheet, group: Group, pods: Pods, scaler: AutoscalerFacts) -> None:
    if scaler.lag is None and scaler.cpu is None:
        followed = ", ".join(fact.source for fact in scaler.other)
        words = f"{scaler.kind} of {pods.name} follows {followed or 'nothing that is named'}, which is not simulated"
        sheet.question(1, f"{words}: which sizes does the group have in the course of a day? `do: scale` sets one.")
        return
    sheet.item("at", "0s")
    sheet.value(2, "do", "autoscale")
    sheet.value(2, "group", scalar(group.id))
    if scaler.lag is not None:
        sheet.value(2, "lag", str(scaler.lag.value), scaler.lag)
    elif scaler.cpu is not None:
        sheet.value(2, "cpu-percent", str(scaler.cpu.value), scaler.cpu)
        sheet.ask(2, "busy-percent")
        sheet.value(2, "busy-percent", GUESSES["busy-percent"].value)
    for key, bound in (("min", scaler.minimum), ("max", scaler.maximum)):
        if bound is not None:
            zero = "; scaling to zero is not simulated" if not bound.value else ""
            sheet.value(2, key, str(max(1, bound.value)), bound.source + zero)
    if scaler.stabilization_s is not None:
        sheet.value(2, "stabilization", f"{scaler.stabilization_s.value}s", scaler.stabilization_s)
    sheet.ask(2, "start-time")
    sheet.value(2, "start-time", GUESSES["start-time"].value)
    rollout = pods.workload.rollout if pods.workload is not None else {}
    for key in ("stop-time", "grace"):
        if key in rollout:
            sheet.value(2, key, rollout[key].value, rollout[key])
    for fact in scaler.other:
        sheet.note(2, f"Not simulated: {fact.source} ({fact.value}).")
