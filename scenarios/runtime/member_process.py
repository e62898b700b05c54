"""A process of the scenario with a consumer: its plan, and the steps that act on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from attrs import field

from groupsim.eventloop.distributions import Distribution
from groupsim.eventloop.interface import EventLoop
from groupsim.eventloop.randomness import Stream
from groupsim.members.behaviour import Behaviour
from groupsim.members.consumer.consumer import Consumer
from groupsim.members.producer.producer import Producer
from groupsim.protocol.values import frozen
from groupsim.scenarios.language.model import MemberSpec
from groupsim.scenarios.plans.members import MemberPlan
from groupsim.scenarios.runtime.process import Process

if TYPE_CHECKING:
    from groupsim.scenarios.language.values import Names


@frozen
class NextCalls(Distribution):
    """Another duration for the next `calls` draws, then the one before."""

    us: int
    before: Distribution | None
    calls: list[int] = field(eq=False)

    def draw(self, stream: Stream) -> int:
        """Draw the other duration while calls are left."""
        if self.calls[0] > 0:
            self.calls[0] -= 1
            return self.us
        return self.before.draw(stream) if self.before is not None else 0


def behaviour_of(spec: MemberSpec) -> Behaviour:
    """Return the application's behaviour from the scenario; `Behaviour` has the defaults."""
    given: dict[str, Any] = {name: getattr(spec, name) for name in _SAME if getattr(spec, name) is not None}
    if spec.error_pause is not None:
        given["error_pause_us"] = spec.error_pause
    if spec.rejoin_every is not None:
        given["enforce_rebalance_every"] = spec.rejoin_every
    if spec.stuck is not None:
        given["stuck"] = frozenset(spec.stuck)
    return Behaviour(**given)


_SAME = (
    "processing",
    "per_batch",
    "poll_timeout",
    "poll_gap",
    "on_assigned",
    "on_revoked",
    "on_lost",
    "assignor_time",
    "commit",
    "on_error",
    "on_commit_failure",
    "push_buffer",
)


class Actor(Process):
    """One process over its restarts, with a `producer` if it produces from what it consumes."""

    def __init__(self, loop: EventLoop, plan: MemberPlan, consumer: Consumer, producer: Producer | None = None) -> None:
        super().__init__(loop, plan.name, plan.spec, consumer)
        self.plan = plan
        self.consumer = consumer
        self._producer = producer

    @property
    def group(self) -> str:
        """Its group id."""
        return self.plan.group

    def _begin(self) -> None:
        if self._producer is not None:
            self._producer.start()
            self._start_task(self._end_producer, "producer")
        self.consumer.start()

    def stop(self, leave: bool | None = None) -> None:
        """Close cleanly; the process ends when its handler has finished."""
        self.consumer.begin_close(leave)

    def crash(self) -> None:
        """Kill the process."""
        self.consumer.crash()
        if self._producer is not None:
            self._producer.crash()

    def pause(self, us: int) -> None:
        """Pause the whole process."""
        self.consumer.pause(us)
        if self._producer is not None:
            self._producer.pause(us)

    async def ended(self) -> None:
        """Wait until no process runs."""
        await self.consumer.ended()
        if self._producer is not None:
            self._producer.begin_close()
            await self._producer.ended()

    def subscribe(self, topics: Names | None, pattern: str | None, regex: str | None) -> None:
        """Change the subscription; with none of them, unsubscribe."""
        # A regex, or `Consumer.assign`, excludes other kinds (`SubscriptionState.setSubscriptionType`).
        if self.plan.spec.assign is not None or self.consumer.subscribed_to_regex is not (regex is not None):
            self.consumer.unsubscribe()
        if regex is not None:
            self.consumer.subscribe(regex=regex)
            return
        if pattern is not None:
            self.consumer.subscribe(pattern=pattern)
        elif topics is not None:
            self.consumer.subscribe(topics)
        else:
            self.consumer.unsubscribe()

    def block_poll(self, us: int) -> None:
        """Delay the next poll, after the application has handled its records."""
        gap = self.consumer.behaviour.poll_gap
        self.consumer.change_behaviour(poll_gap=NextCalls("block-poll", us, gap, [1]))

    def block_heartbeats(self, us: int) -> None:
        """Stop the library's heartbeat thread for a while."""
        self.consumer.block_heartbeats(us)

    def block_callback(self, callback: str, us: int, calls: int) -> None:
        """Let the next callbacks of a kind take long."""
        name = f"on_{callback}"
        before = getattr(self.consumer.behaviour, name)
        self.consumer.change_behaviour(**{name: NextCalls("block-callback", us, before, [calls])})

    def stick_workers(self, us: int, partitions: Sequence[str] | None) -> None:
        """Block the workers that process records for a while; the application still polls."""
        self.consumer.stick_workers(us, partitions)

    def rejoin(self, reason: str) -> None:
        """Let the application ask for a rebalance."""
        self.consumer.enforce_rebalance(reason)

    async def _end_producer(self, life: int) -> None:
        """Close the producer when the consumer has ended, for whatever reason."""
        await self.ended()
