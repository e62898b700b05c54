"""A producer's metadata: partition leaders, refreshed every metadata.max.age.ms or when a leader moved.

Source: `ProducerMetadata`, `Metadata`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from groupsim.eventloop.units import MS_US
from groupsim.members.interfaces import Disconnected, Outcome
from groupsim.members.producer.wires import ANY, Waits, Wires
from groupsim.protocol.messages.group import MetadataRequest, MetadataResponse, TopicInfo

if TYPE_CHECKING:
    from groupsim.eventloop.interface import EventLoop, Handle, Host
    from groupsim.members.producer.settings import ProducerSettings


class TopicsView:
    """The topics of the last metadata response; `on_news` is called after each."""

    __slots__ = (
        "_asked_us",
        "_host",
        "_in_flight",
        "_loop",
        "_on_news",
        "_settings",
        "_timer",
        "_timer_us",
        "_waits",
        "_wires",
        "topics",
        "wanted",
    )

    def __init__(
        self, loop: EventLoop, host: Host, settings: ProducerSettings, wires: Wires, on_news: Callable[[], None]
    ) -> None:
        self.topics: dict[str, TopicInfo] = {}
        self.wanted: dict[str, None] = {}
        self._loop = loop
        self._host = host
        self._settings = settings
        self._wires = wires
        self._on_news = on_news
        self._in_flight = False
        self._asked_us = -1
        self._timer: Handle | None = None
        self._timer_us = 0
        stream = loop.stream("metadata-backoff", host.name, host.incarnation)
        self._waits = Waits(settings.retry_backoff_ms, settings.retry_backoff_max_ms, stream)

    def want(self, topic: str) -> None:
        """Watch a topic, and request its metadata if it is new."""
        if topic not in self.wanted:
            self.wanted[topic] = None
            self._ask_in(0)

    def outdated(self) -> None:
        """Refresh metadata, at most every retry.backoff.ms: a leader moved, or a broker is gone."""
        if not self._in_flight:
            soonest = self._asked_us + self._settings.retry_backoff_ms * MS_US
            self._ask_in(0 if self._asked_us < 0 else max(soonest - self._loop.now_us, 0))

    def _ask(self, _: Any) -> None:
        self._timer = None
        if self._in_flight:
            return
        node = self._wires.any_node()
        if node < 0:
            self._ask_in(self._waits.next_us())
            return
        self._in_flight, self._asked_us = True, self._loop.now_us
        request = MetadataRequest(tuple(self.wanted))
        self._wires.ask(node, ANY, request, self._answered)

    def _answered(self, outcome: Outcome) -> None:
        self._in_flight = False
        if isinstance(outcome, Disconnected) or not isinstance(outcome, MetadataResponse):
            self._ask_in(self._waits.next_us())
            return
        for topic in outcome.topics:
            if topic.partitions or topic.error:
                self.topics[topic.name] = topic
        if any(self._is_open(name) for name in self.wanted):
            self._ask_in(self._waits.next_us())
        else:
            self._waits.reset()
            self._ask_in(self._settings.metadata_max_age_ms * MS_US)
        self._on_news()

    def _is_open(self, name: str) -> bool:
        """Whether a topic is unknown, or a partition has no leader."""
        topic = self.topics.get(name)
        return topic is None or bool(topic.error) or any(entry.leader < 0 for entry in topic.partitions)

    def _ask_in(self, wait_us: int) -> None:
        when = self._loop.now_us + wait_us
        if self._timer is not None:
            if self._timer_us <= when:
                return
            self._host.cancel(self._timer)
        self._timer_us = when
        self._timer = self._host.call_at(when, self._ask)
