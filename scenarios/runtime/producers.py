"""The producers of a running scenario: their loads and processes.

A producer's rate follows the scenario's clock, not the process's: a late start, or a restart, continues at the rate
of that moment. So its loads are made at each start.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from groupsim.eventloop.interface import EventLoop
from groupsim.members.interfaces import Transport
from groupsim.members.producer.eos import ExactlyOnce, Output
from groupsim.members.producer.load import Arriving, Keys, Load
from groupsim.members.producer.producer import Producer
from groupsim.scenarios.language.model import KeysSpec, ProducesSpec
from groupsim.scenarios.plans.members import MemberPlan
from groupsim.scenarios.plans.producers import ProducerPlan, millionths, settings_of, transforming_properties
from groupsim.scenarios.runtime.process import Process

if TYPE_CHECKING:
    from groupsim.scenarios.language.values import Rate

_MILLION = 1_000_000


def keys_of(spec: KeysSpec) -> Keys:
    """Return the keys of a load."""
    hot = spec.hot.of(_MILLION, round_up=False) if spec.hot is not None else 0
    return Keys(spec.count, spec.skew, hot_ppm=hot)


class ProducerActor(Process):
    """One producer process over its restarts; steps act on it as on an `Actor`."""

    def __init__(self, loop: EventLoop, plan: ProducerPlan, transport: Transport) -> None:
        settings, _ = settings_of(plan.properties())
        every = plan.spec.commit_every
        self.producer = Producer(loop, plan.name, settings, transport, commit_every_us=every)
        super().__init__(loop, plan.name, plan.spec, self.producer)
        self.plan = plan
        self._changed: list[tuple[int, int]] = []

    def _begin(self) -> None:
        self.producer.loads = (self._load(),)
        self.producer.start()

    def stop(self, leave: bool | None = None) -> None:
        """Close after the pending records are delivered. `leave` is for members of groups."""
        self.producer.begin_close()

    def crash(self) -> None:
        """Kill the process; records without acknowledgement are lost."""
        self.producer.crash()

    def pause(self, us: int) -> None:
        """Pause the whole process."""
        self.producer.pause(us)

    async def ended(self) -> None:
        """Wait until no process runs."""
        await self.producer.ended()

    def set_rate(self, rate: Rate) -> None:
        """Change the rate from now on, for later starts too."""
        self._changed.append((self.loop.now_us, millionths(rate)))
        if self.producer.running:
            self.producer.set_rate(self.plan.spec.topic, millionths(rate))

    def burst(self, records: int) -> None:
        """Send `records` at once. Raises ValueError if no process runs."""
        if not self.producer.running:
            raise ValueError(f"producer {self.name} does not run; start it before the burst")
        self.producer.burst(self.plan.spec.topic, records)

    def _load(self) -> Load:
        """Return what the application sends from now on."""
        spec, now = self.plan.spec, self.loop.now_us
        steps = [(int(step.at), millionths(step.rate)) for step in spec.steps]
        past = sorted([*(step for step in steps if step[0] <= now), *self._changed], key=lambda step: step[0])
        given: dict[str, Any] = {"keys": keys_of(spec.keys)} if spec.keys is not None else {}
        return Load(
            spec.topic,
            past[-1][1] if past else millionths(spec.rate),
            arriving=Arriving(spec.arriving),
            sizes=spec.record_size,
            weights=spec.weights,
            steps=tuple((at - now, rate) for at, rate in steps if at > now),
            **given,
        )


def transforming(
    loop: EventLoop, plan: MemberPlan, produces: ProducesSpec, transport: Transport
) -> tuple[Producer, ExactlyOnce]:
    """Return the producer of a transforming member, and the handler of the records of each poll."""
    settings, _ = settings_of(transforming_properties(plan, produces))
    producer = Producer(loop, f"{plan.name}-producer", settings, transport)
    output = Output(produces.to, produces.record_size, produces.same_partition)
    return producer, ExactlyOnce(loop, producer, output)
