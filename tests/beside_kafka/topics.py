"""The topics and brokers of a walk, and how they change: the metadata of both sides."""

from __future__ import annotations

import random
from base64 import urlsafe_b64encode
from collections.abc import Sequence

from groupsim.coordinator.base.interfaces import TopicView
from groupsim.coordinator.base.topics import KnownTopics
from tests.beside_kafka.kafka_shard import Body
from tests.beside_kafka.play import Play

NAMES = ("a", "b", "bar", "baz", "foo", "foo-1", "foo-2")
BROKERS = 3
SIZES = (1, 2, 3, 4, 6, 20, 40)
RACKS = (None, "r1", "r2")


class DrawnTopics:
    """Topics by name: their ids, and the replicas of each partition."""

    def __init__(self, draw: random.Random, play: Play) -> None:
        self._draw = draw
        self._play = play
        self._racks = {node: draw.choice(RACKS) for node in range(BROKERS)}
        self._version = self._created = 0
        self.topics: dict[str, tuple[str, list[list[int]]]] = {}
        self._change([{"do": "broker", "broker": node, "rack": rack} for node, rack in self._racks.items()], "")
        for name in draw.sample(NAMES, draw.randint(2, 4)):
            self.create(name)

    def partitions(self, name: str) -> int:
        """Return the number of partitions; 0 for a topic that is not there."""
        return len(self.topics[name][1]) if name in self.topics else 0

    def id_of(self, name: str) -> str:
        """Return the id of a topic."""
        return self.topics[name][0]

    def create(self, name: str) -> None:
        """Create a topic of random size, with an id of its own."""
        topic_id = "A" + urlsafe_b64encode(self._draw.randbytes(16)).decode()[1:22]
        replicas = self._replicas(self._draw.choice(SIZES))
        self.topics[name] = topic_id, replicas
        self._change([{"do": "create", "id": topic_id, "name": name, "from": 0, "replicas": replicas}], name, new=True)

    def delete(self, name: str) -> None:
        """Delete a topic."""
        topic_id, _ = self.topics.pop(name)
        self._change([{"do": "delete", "id": topic_id, "name": name}], name, deleted=(name,))

    def change(self) -> None:
        """Create, delete or change a topic."""
        draw = self._draw
        name = draw.choice(NAMES)
        if name not in self.topics:
            self.create(name)
            return
        topic_id, replicas = self.topics[name]
        what = draw.choice(("grow", "move", "delete", "again"))
        if what == "grow":
            more = self._replicas(draw.choice((1, 2)))
            self.topics[name] = topic_id, [*replicas, *more]
            self._change([{"do": "grow", "id": topic_id, "from": len(replicas), "replicas": more}], name)
        elif what == "move":
            moved = self._replicas(len(replicas))
            self.topics[name] = topic_id, moved
            self._change([{"do": "move", "id": topic_id, "from": 0, "replicas": moved}], name)
        elif len(self.topics) > 1 or what == "again":
            self.delete(name)
            if what == "again":
                self.create(name)

    def _replicas(self, partitions: int) -> list[list[int]]:
        return [self._draw.sample(range(BROKERS), 2) for _ in range(partitions)]

    def _change(self, changes: Sequence[Body], name: str, *, new: bool = False, deleted: Sequence[str] = ()) -> None:
        self._version += self._draw.choice((1, 1, 5))
        if new:
            self._created = self._version
        views = [self._view(one, topic_id, replicas) for one, (topic_id, replicas) in self.topics.items()]
        known = KnownTopics(tuple(views), version=self._version, created_version=self._created)
        self._play.change(changes, known, (name,) if name else (), deleted)

    def _view(self, name: str, topic_id: str, replicas: Sequence[Sequence[int]]) -> TopicView:
        racks = [tuple(sorted(rack for node in nodes if (rack := self._racks[node]))) for nodes in replicas]
        return TopicView(topic_id, name, len(replicas), tuple(racks))
