"""A story: what is put in the way of one consumer, and what its application does. Both twins play the same one.

A rule looks at the requests of the consumer's group, counted by API from 1 on over the whole story; `at` is the number
of the first one that it means. Deeds follow a request after some milliseconds, so that both twins are in the same
situation then, however quick they were until there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import Api

FIND, JOIN, SYNC, HEARTBEAT = Api.FIND_COORDINATOR, Api.JOIN_GROUP, Api.SYNC_GROUP, Api.HEARTBEAT
LEAVE, COMMIT, FETCH, METADATA = Api.LEAVE_GROUP, Api.OFFSET_COMMIT, Api.OFFSET_FETCH, Api.METADATA

#: Far enough from each other to be told apart on a busy machine (`writing.CLASSES`), and from the 500 ms of a Fetch.
SETTINGS: Mapping[str, object] = {
    "session.timeout.ms": 6000,
    "heartbeat.interval.ms": 800,
    "retry.backoff.ms": 200,
    "retry.backoff.max.ms": 200,
    "max.poll.interval.ms": 20000,
    "partition.assignment.strategy": "range",
    "enable.auto.commit": False,
    "auto.offset.reset": "earliest",
}


@frozen
class Answer:
    """Requests that are answered with an error before the coordinator sees them."""

    api: Api
    at: int
    error: ErrorCode
    times: int = 1


@frozen
class Strike:
    """A request whose answer does not come: the connection breaks, or nothing comes back on it any more."""

    api: Api
    at: int
    breaks: bool
    times: int = 1


@frozen
class Slow:
    """Requests that are answered so many milliseconds later than the coordinator does."""

    api: Api
    at: int
    by_ms: int
    times: int = 1


@frozen
class Deed:
    """Something done so many milliseconds after a request came in; `what` is explained in `deeds.py`."""

    api: Api
    at: int
    wait_ms: int
    what: str
    given: Mapping[str, Any]


Rule = Answer | Strike | Slow | Deed


@frozen
class Story:
    """One story. Its `topics` are its own, and have two partitions each; `subscribes` are those it begins with.

    `policy` is when the application commits, by the names of `members.behaviour.CommitPolicy`; `stubborn`: it polls on
    after an exception. With `partner` another consumer is in the group before this one comes. `metadata`: requests for
    metadata are part of the story. `differs`: why the simulated consumer does something else, and is left so.

    `assigns`: the partitions that it takes without joining, in place of topics. Each topic has so many `partitions`,
    each with so many `replicas`. `partner_id`: the partner's client id, where its place in the order of members counts;
    `partner_protocol`: its group.protocol.
    `tells`: the application says which records it got. It needs `clean_up_ms` to give its partitions up.
    """

    name: str
    rules: tuple[Rule, ...]
    ends_ms: int
    settings: Mapping[str, object] = field(factory=dict)
    topics: tuple[str, ...] = ("t",)
    subscribes: tuple[str, ...] = ("t",)
    pattern: str | None = None
    records: int = 0
    policy: str = "auto"
    stubborn: bool = False
    partner: bool = False
    metadata: bool = False
    poll_ms: int = 1000
    differs: str = ""
    assigns: tuple[str, ...] = ()
    partitions: int = 2
    replicas: int = 1
    partner_id: str = ""
    partner_protocol: str = "classic"
    tells: bool = False
    clean_up_ms: int = 0

    @property
    def slug(self) -> str:
        """The name of its file, group, client and topics' prefix."""
        return self.name.replace(" ", "-").replace("'", "")

    @property
    def alone(self) -> bool:
        """Whether its client has a process of its own: the process is stopped for a while."""
        return self._does("pause")

    @property
    def apart(self) -> bool:
        """Whether it has a cluster of its own besides: all brokers are away for a while."""
        return self._does("away")

    def _does(self, what: str) -> bool:
        return any(isinstance(rule, Deed) and rule.what == what for rule in self.rules)

    @property
    def all_rules(self) -> tuple[Rule, ...]:
        """Its rules, and those that all stories of its kind have."""
        return self.rules

    @property
    def properties(self) -> dict[str, object]:
        """The consumer's settings."""
        own = {"group.id": self.slug, "client.id": self.slug}
        return {**SETTINGS, **own, **self.settings}

    def topic(self, name: str) -> str:
        """The real name of a topic of this story."""
        return f"{self.slug}.{name}"


def answer(api: Api, at: int, error: str, times: int = 1) -> Answer:
    """Requests from the `at`-th on, so many of them, are answered with an error."""
    return Answer(api, at, ErrorCode[error], times)


def breaks(api: Api, at: int, times: int = 1) -> Strike:
    """The connection breaks when the request has come in; the coordinator does not see it."""
    return Strike(api, at, True, times)


def silence(api: Api, at: int, times: int = 1) -> Strike:
    """The request is not answered, and nothing else on that connection."""
    return Strike(api, at, False, times)


def slow(api: Api, at: int, by_ms: int, times: int = 1) -> Slow:
    """Requests from the `at`-th on, so many of them, are answered so much later."""
    return Slow(api, at, by_ms, times)


def then(api: Api, at: int, wait_ms: int, what: str, **given: Any) -> Deed:
    """So many milliseconds after the `at`-th request something is done."""
    return Deed(api, at, wait_ms, what, given)
