"""The producers of a scenario: their plans, their settings, their loads, and the processes themselves.

A producer's rate follows the scenario's clock, not the process's: one that starts late, or again, goes on at the rate
of that moment. So its loads are made anew for each life.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import field, frozen

from groupsim.eventloop.interface import EventLoop
from groupsim.members.interfaces import Transport
from groupsim.members.producer.eos import ExactlyOnce, Output
from groupsim.members.producer.load import Arriving, Keys, Load
from groupsim.members.producer.producer import Producer
from groupsim.members.producer.settings import ProducerSettings, producer_settings_from
from groupsim.members.settings import Note
from groupsim.scenarios.language.model import KeysSpec, ProducerSpec, ProducesSpec, Scenario
from groupsim.scenarios.language.properties import is_secret, parse_properties
from groupsim.scenarios.plans.members import MemberPlan, fill, member_names
from groupsim.scenarios.runtime.process import Process

if TYPE_CHECKING:
    from collections.abc import Mapping

    from groupsim.scenarios.language.values import Rate

_MILLION = 1_000_000
FEED_PREFIX = "producer-"
"""The host of the steady producer behind a topic's `rate`, before the topic's name."""


@frozen
class ProducerPlan:
    """One process that produces: its name, number within its specification, and what is said of it.

    `folder` is where a `properties-file` is looked for.
    """

    name: str
    number: int
    spec: ProducerSpec
    key: str
    folder: Path = field(factory=Path)

    def properties(self) -> dict[str, object]:
        """What the producer is configured with: file, then what is written; values of secrets are left out.

        Raises OSError or ValueError when a properties file cannot be read.
        """
        spec = self.spec
        found = {name: value for name, value in self._given().items() if not is_secret(name)}
        found.setdefault("client.id", self.name)
        for name, pattern in (("client.id", spec.client_id), ("transactional.id", spec.transactional_id)):
            value = pattern if pattern is not None else found.get(name)
            if isinstance(value, str):
                found[name] = fill(value, self.name, self.number, "")
        return found

    def secrets(self) -> tuple[str, ...]:
        """The names of the settings whose values are left out; raises as `properties` does."""
        return tuple(name for name in self._given() if is_secret(name))

    def _given(self) -> dict[str, object]:
        if self.spec.properties_file is None:
            return dict(self.spec.properties)
        read = parse_properties((self.folder / self.spec.properties_file).read_text(encoding="utf-8"))
        return {**read, **self.spec.properties}


def producer_plans(scenario: Scenario, folder: Path | None = None) -> Iterator[ProducerPlan]:
    """Every producer process of a scenario, in the order of the file; `folder` is that of the scenario's file."""
    folder = folder if folder is not None else Path(scenario.file).parent
    for key, spec in scenario.producers.items():
        for number, name in enumerate(member_names(key, spec.count), 1):
            yield ProducerPlan(name, number, spec, key, folder)


def transforming_properties(plan: MemberPlan, produces: ProducesSpec) -> dict[str, object]:
    """What the producer of a member that consumes, transforms and produces is configured with."""
    found = {name: value for name, value in produces.properties.items() if not is_secret(name)}
    return {"client.id": plan.name, **found, "transactional.id": plan.filled(produces.transactional_id)}


def settings_of(properties: Mapping[str, object]) -> tuple[ProducerSettings, tuple[Note, ...]]:
    """A producer's settings, with notes. Raises SettingError for impossible values."""
    return producer_settings_from(properties)


def keys_of(spec: KeysSpec) -> Keys:
    """The keys of a load."""
    hot = spec.hot.of(_MILLION, round_up=False) if spec.hot is not None else 0
    return Keys(spec.count, spec.skew, hot_ppm=hot)


def millionths(rate: Rate) -> int:
    """A rate as loads have it: records per 10⁶ s."""
    return round(rate.per_second * _MILLION)


class ProducerActor(Process):
    """One producer process, over all its lives; to steps of the timeline it is what `Actor` is for a member."""

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
        """Close: what was sent is delivered first. `leave` is for members of groups."""
        self.producer.begin_close()

    def crash(self) -> None:
        """Kill the process: what is not acknowledged is forgotten."""
        self.producer.crash()

    def pause(self, us: int) -> None:
        """Let the whole process stand still."""
        self.producer.pause(us)

    async def ended(self) -> None:
        """Wait until no process runs."""
        await self.producer.ended()

    def set_rate(self, rate: Rate) -> None:
        """Another rate from now on, for later lives too."""
        self._changed.append((self.loop.now_us, millionths(rate)))
        if self.producer.running:
            self.producer.set_rate(self.plan.spec.topic, millionths(rate))

    def burst(self, records: int) -> None:
        """So many records at once. Raises RuntimeError when no process runs."""
        if not self.producer.running:
            raise ValueError(f"producer {self.name} does not run; start it before the burst")
        self.producer.burst(self.plan.spec.topic, records)

    def _load(self) -> Load:
        """What the application sends from now on."""
        spec, now = self.plan.spec, self.loop.now_us
        steps = [(int(step.at), millionths(step.rate)) for step in spec.steps]
        past = sorted([*(step for step in steps if step[0] <= now), *self._changed], key=lambda step: step[0])
        said: dict[str, Any] = {"keys": keys_of(spec.keys)} if spec.keys is not None else {}
        return Load(
            spec.topic,
            past[-1][1] if past else millionths(spec.rate),
            arriving=Arriving(spec.arriving),
            sizes=spec.record_size,
            weights=spec.weights,
            steps=tuple((at - now, rate) for at, rate in steps if at > now),
            **said,
        )


def transforming(
    loop: EventLoop, plan: MemberPlan, produces: ProducesSpec, transport: Transport
) -> tuple[Producer, ExactlyOnce]:
    """The producer of a member that produces what it consumes, and what handles the records of each poll."""
    settings, _ = settings_of(transforming_properties(plan, produces))
    producer = Producer(loop, f"{plan.name}-producer", settings, transport)
    output = Output(produces.to, produces.record_size, produces.same_partition)
    return producer, ExactlyOnce(loop, producer, output)


def with_transactions(properties: dict[str, object]) -> dict[str, object]:
    """A member's settings when its offsets are committed in transactions: it commits none itself."""
    return {**properties, "enable.auto.commit": False}
