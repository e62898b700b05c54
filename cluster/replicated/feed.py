"""The feed of replicated logs: a producer for each topic with a rate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from groupsim.members.producer.load import DEFAULT_SIZES, Load, Sizes
from groupsim.members.producer.producer import Producer
from groupsim.members.producer.settings import producer_settings_from

if TYPE_CHECKING:
    from groupsim.eventloop.interface import EventLoop
    from groupsim.members.interfaces import Transport
    from groupsim.protocol.messages.cluster import ClusterImage

Shape = tuple[tuple[int, ...] | None, Sizes]
_EQUAL: Shape = (None, DEFAULT_SIZES)


class ProducerFeed:
    """Steady producers on the hosts "producer-<topic>"; implements `parts.Feed`.

    They have acks=1, unlimited retries and no linger. Records come at the same instants as in counted logs
    (`producer.traffic`). A producer is created when its topic first has a rate or a burst.
    """

    def __init__(self, loop: EventLoop, transport: Transport, image: Callable[[], ClusterImage]) -> None:
        self.producers: dict[str, Producer] = {}
        self._loop = loop
        self._transport = transport
        self._image = image
        self._shapes: dict[str, Shape] = {}

    def open(self, topic: str, weights: Sequence[int], rate: int, sizes: Sizes) -> None:
        self.shape(topic, weights, sizes)
        if rate:
            self._start(topic, rate)

    def shape(self, topic: str, weights: Sequence[int] | None, sizes: Sizes) -> None:
        """Set the distribution of a topic's records over its partitions; equal shares without weights."""
        self._shapes[topic] = None if weights is None else tuple(weights), sizes

    def grow(self, topic: str, weights: Sequence[int]) -> None:
        """See `parts.Feed.grow`: the producer gets new partitions with its metadata."""

    def close(self, topic: str) -> None:
        self._shapes.pop(topic, None)
        producer = self.producers.pop(topic, None)
        if producer is not None:
            producer.crash("its topic was deleted")

    def set_rate(self, topic: str, rate: int) -> None:
        producer = self.producers.get(topic)
        if producer is None:
            self._start(topic, rate)
        else:
            producer.process.set_rate(topic, rate)

    def burst(self, topic: str, records: int) -> None:
        if topic not in self.producers:
            self._start(topic, 0)
        self.producers[topic].burst(topic, records)

    def _start(self, topic: str, rate: int) -> None:
        known = self._image().topics
        if topic not in known:
            raise ValueError(f"there is no topic {topic!r}; there are: {', '.join(known)}")
        weights, sizes = self._shapes.get(topic, _EQUAL)
        name = f"producer-{topic}"
        settings, _ = producer_settings_from({"client.id": name, "acks": "1", "enable.idempotence": "false"})
        load = Load(topic, rate=rate, sizes=sizes, weights=weights or (1,) * len(known[topic].partitions))
        producer = self.producers[topic] = Producer(self._loop, name, settings, self._transport, [load])
        producer.start()
