"""Replace the members of a group step by step, and scale a group.

A rollout follows Kubernetes (Deployment: `maxSurge` rounded up, `maxUnavailable` rounded down, new pods have
new names; StatefulSet: the same names, one by one, from the last). Pods count as available once their consumer has
started and `ready-time` has passed; consumers stop at once on SIGTERM, after `stop-time`. When no part of it
runs any more, `rollout.ended` is emitted; the story finds when the group is stable again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import attrs

from groupsim.eventloop.distributions import Distribution
from groupsim.eventloop.trace.events import Kind
from groupsim.scenarios.plans.members import MemberPlan
from groupsim.scenarios.runtime.member_process import Actor

if TYPE_CHECKING:
    from groupsim.scenarios.runtime.stage import Stage
    from groupsim.scenarios.steps.actions import RollingRestart, Scale


class RolloutRunner:
    """One rollout of one group."""

    def __init__(self, stage: Stage, action: RollingRestart, group: str) -> None:
        self.stage = stage
        self.action = action
        self.group = group
        self._step = stage.loop.trace.cause  # the event of the step
        self._changed = stage.loop.event()
        self._starting = 0
        self._ready = 0
        self._ending = 0
        self._running_tasks = 0
        self._first_stop_us: int | None = None
        self._new: list[str] = []

    async def run(self) -> None:
        """Run the rollout until the last new pod is ready and the last old one has ended."""
        old = [actor for actor in self.stage.of_group(self.group) if actor.running]
        await {"deployment": self._deployment, "statefulset": self._one_by_one, "recreate": self._recreate}[
            self.action.kind
        ](old)
        await self._until(lambda: self._running_tasks == 0)
        self._emit_end([actor.name for actor in old])

    def _emit_end(self, replaced: list[str]) -> None:
        payload = {
            "kind": self.action.kind,
            "replaced": replaced,
            "pods": self._new,
            "first_stop_us": self._first_stop_us,
        }
        self.stage.loop.trace.emit(Kind.ROLLOUT_ENDED, group=self.group, cause=self._step, payload=payload)

    async def _one_by_one(self, old: list[Actor]) -> None:
        """Replace pods under the same names, the last first; the next follows when this one is ready."""
        for actor in reversed(old):
            await self._end(actor)
            self.stage.reconfigure(actor, self.action.properties)
            await self._begin(actor)

    async def _recreate(self, old: list[Actor]) -> None:
        """End all pods; when the last has ended, start all."""
        for actor in old:
            self._spawn(self._end(actor), f"end of {actor.name}")
        await self._until(lambda: self._ending == 0 and all(not actor.running for actor in old))
        for actor in old:
            self.stage.reconfigure(actor, self.action.properties)
            self._spawn(self._begin(actor), f"start of {actor.name}")

    async def _deployment(self, old: list[Actor]) -> None:
        """Start new pods as the surge allows, end old ones while enough are available."""
        wanted = len(old)
        surge = self.action.surge.of(wanted, round_up=True)
        missing = self.action.max_unavailable.of(wanted, round_up=False)
        if surge == 0 and missing == 0:
            # without surge and unavailable pods no pod could be replaced
            surge = 1
        waiting, new = list(old), [self._successor(actor, wanted + n) for n, actor in enumerate(old, 1)]
        while waiting or new:
            alive = len(waiting) + self._ending + self._starting + self._ready
            if new and alive < wanted + surge:
                self._starting += 1
                self._spawn(self._arrive(new.pop(0)), "start of a pod")
            elif waiting and len(waiting) + self._ready > wanted - missing:
                self._spawn(self._end(waiting.pop(0)), "end of a pod")
            else:
                await self._wait()

    async def _arrive(self, actor: Actor) -> None:
        await self._begin(actor)
        self._starting -= 1
        self._ready += 1
        self._changed.set()

    def _successor(self, actor: Actor, number: int) -> Actor:
        """Add the new pod that replaces an old one, with a name and a number of its own."""
        plan = next_plan(self.stage, actor, number)
        successor = self.stage.add(self.stage.changed(plan, self.action.properties))
        self.stage.awaited.add(successor.name)
        return successor

    async def _begin(self, actor: Actor) -> None:
        """Create a pod and wait until it is ready."""
        await self._take(self.action.start_time, "start", actor)
        self._new.append(actor.name)
        self.stage.awaited.discard(actor.name)
        actor.start()
        await self._take(self.action.ready_time, "ready", actor)

    async def _end(self, actor: Actor) -> None:
        """Stop a pod, with SIGTERM and, after the grace period, SIGKILL, and wait until it has ended."""
        self._ending += 1
        if self._first_stop_us is None:
            self._first_stop_us = self.stage.loop.now_us
        grace = self.action.grace
        if grace is None:
            await self._take(self.action.stop_time, "stop", actor)
        else:
            actor.kill_after(grace)
            with self.stage.loop.timeout(grace):  # SIGKILL cuts the preStop hook short
                await self._take(self.action.stop_time, "stop", actor)
        if self.action.how == "crash":
            actor.crash()
        else:
            actor.stop(self.action.leave)
        await actor.ended()
        self._ending -= 1
        self._changed.set()

    async def _take(self, duration: Distribution | None, what: str, actor: Actor) -> None:
        if duration is not None:
            loop = self.stage.loop
            await loop.sleep(duration.draw(loop.stream(f"rollout-{what}", actor.name)))

    async def _wait(self) -> None:
        self._changed.clear()
        await self._changed.wait()

    async def _until(self, holds: object) -> None:
        assert callable(holds)
        while not holds():
            await self._wait()

    def _spawn(self, task: object, name: str) -> None:
        async def run() -> None:
            await task  # type: ignore[misc]
            self._running_tasks -= 1
            self._changed.set()

        self._running_tasks += 1
        self.stage.start_task(run, name)


async def scale(stage: Stage, action: Scale, group: str) -> None:
    """Bring the number of running members to `to`: start idle ones, then new ones; stop the newest."""
    running = [actor for actor in stage.of_group(group) if actor.running]
    for actor in reversed(running[action.to :]):
        actor.stop(action.leave)
        await stage.loop.sleep(action.stagger)
    for _ in range(action.to - len(running)):
        one_more(stage, group).start()
        await stage.loop.sleep(action.stagger)


def one_more(stage: Stage, group: str, taken: Sequence[Actor] = ()) -> Actor:
    """Return a member that does not run and is not in `taken`, else a new one like the group's last; not started."""
    members = stage.of_group(group)
    free = (actor for actor in members if not actor.running and actor.name not in stage.awaited)
    idle = next((actor for actor in free if actor not in taken), None)
    return idle or stage.add(next_plan(stage, members[-1], len(members) + 1))


def next_plan(stage: Stage, like: Actor, number: int) -> MemberPlan:
    """Return the plan of one more member like another, under an unused name."""
    plan = like.plan
    while (name := _name(plan.key, number)) in stage.actors_by_name:
        number += 1
    return attrs.evolve(plan, name=name, number=number)


def _name(key: str, number: int) -> str:
    return key.replace("{n}", str(number)) if "{n}" in key else f"{key}-{number}"
