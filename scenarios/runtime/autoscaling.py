"""Run an autoscaler: the size of a group follows its lag or its CPU, as with KEDA and Kubernetes' HPA.

KEDA's Kafka scaler gives the group's lag to an HPA as an external metric with a target per pod (`lagThreshold`). An HPA
without KEDA follows the CPU of the pods, in percent of their request. Here a pod uses `busy-percent` while its handler
works and nothing otherwise: its CPU is its share of busy time since the last sync.

The HPA computes the size (`wanted`) every 15 s, at each sync; two rules limit the change. Growing is limited to the
larger of four pods and a doubling at each sync. The group shrinks only to the largest size that was
computed within the stabilization window (300 s), so that a short dip of the metric moves no partitions.

The lag is what `kafka-consumer-groups.sh` shows: log end less committed offset, by partition. Of a partition without a
committed offset KEDA counts the whole log where `auto.offset.reset` is `earliest`, and one record otherwise. The lag
counts for as many pods as the topics have partitions: one more would be idle.

The size is the one that the HPA requested last, without pods that a rollout adds for a while.

Left out: scaling to and from zero, metrics that are late or missing, and CPU that a start or a rebalance takes.

Source: Kubernetes, "Horizontal Pod Autoscaling" (algorithm details, default behavior); KEDA, "Apache Kafka" scaler.
"""

from __future__ import annotations

from collections import deque
from functools import partial
from typing import TYPE_CHECKING

from groupsim.eventloop.distributions import Distribution
from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.values import frozen
from groupsim.scenarios.language.keys import key
from groupsim.scenarios.language.registry import StepAction, action
from groupsim.scenarios.language.targets import TheGroup
from groupsim.scenarios.language.values import Duration, Positive, ProcessCount
from groupsim.scenarios.plans.subscriptions import topics_of
from groupsim.scenarios.runtime.rollout import one_more
from groupsim.scenarios.steps.actions import GRACE, GROUP, Scale
from groupsim.scenarios.steps.describe_step import action_payload, describe_action

if TYPE_CHECKING:
    from groupsim.scenarios.runtime.member_process import Actor
    from groupsim.scenarios.runtime.stage import Stage

TOLERANCE = 10  # percent by which lag per pod may miss the target without a change (HPA's 0.1)
MOST_AT_ONCE = 4  # pods that one sync may add, unless a doubling is more


@action("autoscale")
@frozen(kw_only=True)
class Autoscale(StepAction):
    """Let the size of a group follow its lag or its CPU, as KEDA's Kafka scaler or a HorizontalPodAutoscaler does.

    Every sync changes the number of members to lag / `lag`, rounded up, or to the CPU of all pods / `cpu-percent`. A
    size within 10 % of the target stays; growing adds four members or doubles them; shrinking goes to the largest size
    of the last `stabilization`.
    """

    lag: Positive | None = key("Records of lag for each member (KEDA's lagThreshold); excludes `cpu-percent`.", None)
    cpu_percent: Positive | None = key(
        "CPU for each member, in percent of its request (averageUtilization); not with `lag`.", None
    )
    busy_percent: Positive = key(
        "With `cpu-percent`: the CPU of a pod while it processes, in percent of its request.", Positive(100)
    )
    group: TheGroup | None = key(GROUP, None)
    min: Positive = key("Fewest members (minReplicaCount).", Positive(1))
    max: Positive | None = key("Most members (maxReplicaCount); by default the number of partitions.", None)
    sync_period: Duration = key("Time between two reads of the metric (the HPA's sync period).", 15_000_000)
    stabilization: Duration = key("How long a larger size delays a shrink (stabilizationWindowSeconds).", 300_000_000)
    for_: Duration | None = key("How long the autoscaler works; by default to the end of the run.", None)
    start_time: Distribution | None = key("From the creation of a pod to the start of its consumer.", None)
    stop_time: Distribution | None = key("From SIGTERM to the last poll, a preStop hook included.", None)
    grace: Duration | None = key(GRACE, None)
    leave: bool | None = key("Whether stopping members send LeaveGroup.", None)

    def __attrs_post_init__(self) -> None:
        if (self.lag is None) == (self.cpu_percent is None):
            raise ValueError("an autoscaler needs either `lag` or `cpu-percent`; write for example `lag: 100`")
        if self.max is not None and self.max < self.min:
            raise ValueError(f"`max: {self.max}` is below `min: {self.min}`; raise `max` or lower `min`")
        if self.sync_period <= 0:
            raise ValueError("`sync-period` cannot be 0; write for example 15s")

    def perform(self, stage: Stage) -> None:
        """Start the autoscaler, which continues in the background."""
        stage.autoscale(self)


def wanted(lag: int, target: int, pods: int) -> int:
    """Return the HPA's size for a lag (or the CPU of all pods in percent), a target per pod, and the present size."""
    if pods and abs(lag - target * pods) * 100 <= TOLERANCE * target * pods:
        return pods
    return -(-lag // target)


def growth_limit(pods: int) -> int:
    """Return the largest size that one sync may set (HPA's default policies for scaling up)."""
    return max(pods + MOST_AT_ONCE, pods * 2)


class Stabilization:
    """The sizes computed in the last `window_us`; the group shrinks no further than to the largest of them."""

    def __init__(self, window_us: int) -> None:
        self._window_us = window_us
        self._computed: deque[tuple[int, int]] = deque()

    def size(self, now_us: int, pods: int, computed: int) -> int:
        """Return the next size: the computed one, or for a shrink the largest of the window."""
        while self._computed and self._computed[0][0] <= now_us - self._window_us:
            self._computed.popleft()
        self._computed.append((now_us, computed))
        if computed >= pods:
            return computed
        return min(pods, max(size for _, size in self._computed))


class Autoscaler:
    """One autoscaler of one group, as its step configures it."""

    def __init__(self, stage: Stage, action: Autoscale, group: str) -> None:
        self._stage = stage
        self._action = action
        self._group = group
        self._stabilization = Stabilization(action.stabilization)
        self._pods = [actor for actor in stage.of_group(group) if actor.running]
        self._size = len(self._pods)
        self._starting: list[Actor] = []
        self._ending: list[Actor] = []
        self._worked_us: dict[str, int] = {}
        self._looked_us = stage.loop.now_us

    async def run(self) -> None:
        """Sync the size with the metric at each period."""
        loop, action = self._stage.loop, self._action
        end_us = None if action.for_ is None else loop.now_us + action.for_
        if action.cpu_percent is not None:
            self._cpu()  # CPU is a share of time, which needs a first sample
            await loop.sleep(action.sync_period)
        while end_us is None or loop.now_us < end_us:
            self._sync()
            await loop.sleep(action.sync_period)

    def _sync(self) -> None:
        partitions, lag = self._lag()
        action, pods = self._action, self._size
        if action.lag is not None:
            if lag is None:
                return
            computed, words = wanted(min(lag, action.lag * partitions), action.lag, pods), f"lag {lag:,}"
        else:
            assert action.cpu_percent is not None
            used = self._cpu()
            computed, words = wanted(used, action.cpu_percent, pods), f"CPU {used // max(1, pods)} %"
        most = action.max if action.max is not None else max(partitions, action.min)
        computed = max(action.min, min(most, computed, growth_limit(pods)))
        to = self._stabilization.size(self._stage.loop.now_us, pods, computed)
        if to != pods:
            self._go_to(to, lag, words)

    def _cpu(self) -> int:
        """Return the CPU that all pods have used since the last sync, in percent of one pod's request."""
        now_us = self._stage.loop.now_us
        before, self._worked_us = self._worked_us, {}
        worked_us = 0
        for actor in self._stage.of_group(self._group):
            if actor.running:
                total = self._worked_us[actor.name] = actor.consumer.busy_us
                last = before.get(actor.name, 0)
                worked_us += total - last if total >= last else total  # less than before: a new process
        window_us, self._looked_us = now_us - self._looked_us, now_us
        return worked_us * self._action.busy_percent // window_us if window_us else 0

    def _lag(self) -> tuple[int, int | None]:
        """Return the number of partitions of the group's topics, and its lag; None while it has no coordinator."""
        cluster, group = self._stage.cluster, self._group
        committed = cluster.committed_offsets(group)
        members = self._stage.of_group(group)
        topics = topics_of(self._stage.scenario, group)
        ends = {
            place: (start, watermark)
            for place, (start, _, watermark) in cluster.log_ends().items()
            if place.rpartition("-")[0] in topics
        }
        if committed is None:
            return len(ends), None
        from_start = members[0].consumer.settings.auto_offset_reset == "earliest"
        lag = 0
        for place, (start, watermark) in ends.items():
            at = committed.get(TopicPartition.parse(place))
            if at is None:
                lag += watermark - start if from_start else 1
            else:
                lag += max(0, watermark - max(at, start))
        return len(ends), lag

    def _alive(self) -> list[Actor]:
        """Return the pods that run or start, the oldest first, those of a rollout included."""
        kept = [actor for actor in self._pods if actor.running or actor in self._starting]
        others = [actor for actor in self._stage.of_group(self._group) if actor.running]
        return kept + [actor for actor in others if actor not in kept and actor not in self._ending]

    def _go_to(self, to: int, lag: int | None, measured: str) -> None:
        """Change the size; the change, not the autoscaler's step, is the cause of the events that follow."""
        trace, action = self._stage.loop.trace, self._action
        scale = Scale(to=ProcessCount(to), group=action.group)
        words = f"{describe_action(scale)} by the autoscaler, {measured}"
        payload = {**action_payload(scale), "from": self._size, "lag": lag}
        trace.begin(trace.emit(Kind.ACTION, group=self._group, reason=words, payload=payload))
        self._pods = self._alive()
        kept = max(0, len(self._pods) - max(0, self._size - to))
        for actor in self._pods[kept:]:
            self._pods.remove(actor)
            self._ending.append(actor)
            self._stage.start_task(partial(self._end, actor), f"end of {actor.name}")
        for _ in range(to - self._size):
            actor = one_more(self._stage, self._group, [*self._pods, *self._ending])
            self._pods.append(actor)
            self._starting.append(actor)
            self._stage.start_task(partial(self._begin, actor), f"start of {actor.name}")
        self._size = to

    async def _begin(self, actor: Actor) -> None:
        loop = self._stage.loop
        if self._action.start_time is not None:
            await loop.sleep(self._action.start_time.draw(loop.stream("autoscale-start", actor.name)))
        self._starting.remove(actor)
        if actor in self._pods:
            actor.start()

    async def _end(self, actor: Actor) -> None:
        loop = self._stage.loop
        if not actor.running:
            self._ending.remove(actor)
            return
        if self._action.grace is not None:
            actor.kill_after(self._action.grace)
        if self._action.stop_time is not None:
            await loop.sleep(self._action.stop_time.draw(loop.stream("autoscale-stop", actor.name)))
        actor.stop(self._action.leave)
        await actor.ended()
        self._ending.remove(actor)
