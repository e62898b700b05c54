"""What can go wrong on the network and in the brokers.

Bytes are not lost one by one, because TCP repeats them: connections are lost, stalled or slow. A fault that lasts says
how long (`for`), is shown in the trace from its begin to its end, and leaves everything as it was. The network's own
vocabulary (`cluster/network/faults.py`) does the work; here are the names of the file.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from attrs import frozen

from groupsim.cluster.network import faults as net
from groupsim.cluster.network.link_faults import CLIENTS
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import Api
from groupsim.scenarios.language.keys import key
from groupsim.scenarios.language.registry import Deed, fault
from groupsim.scenarios.language.targets import Broker, Processes, RequestTarget, TheGroup
from groupsim.scenarios.language.values import Bandwidth, Count, Duration, ErrorName, Names, Positive

if TYPE_CHECKING:
    from groupsim.scenarios.runtime.stage import Stage

_MEMBER = "Whose connections: names and patterns of members and producers, `leader`, `member 2`, or `all` (members)."
_BROKER = "Only those to this broker: a number, or `coordinator`."
_GROUP = "Which group; may be left out when there is one."
_REQUEST = "To what: `next JoinGroup of c2`, `the third Heartbeat of leader`, `every SyncGroup of all`."

_APIS = {api.title: api for api in Api}


@frozen(kw_only=True)
class OnLinks(Deed):
    """A fault of connections: who is concerned is settled when it begins."""

    member: Processes = key(_MEMBER)
    broker: Broker | None = key(_BROKER, None)
    connection: Literal["coordinator", "data", "zookeeper"] | None = key("Only this kind of connection.", None)

    def perform(self, stage: Stage) -> None:
        """Begin, for each process."""
        peer = stage.broker_host(self.broker) if self.broker is not None else None
        hosts = stage.hosts(self.member)
        for fault_ in self.on([net.Match(host=host, peer=peer, purpose=self.connection) for host in hosts]):
            stage.inject(fault_)

    def on(self, matches: Sequence[net.Match]) -> list[net.Fault]:
        """The network's faults for processes with these matches, which differ in nothing but the host."""
        return [self.of(match) for match in matches]

    def of(self, match: net.Match) -> net.Fault:
        """The network's fault."""
        raise TypeError(f"{type(self).__name__} is no fault of links")


@fault("latency")
@frozen(kw_only=True)
class Latency(OnLinks):
    """Make the messages of some processes slower for a while."""

    add: Duration = key("Added to the latency of each message.", 0)
    percent: Count = key("The latency itself, in percent of what it was.", 100)
    for_: Duration | None = key("How long; without it, for good.", None)

    def of(self, match: net.Match) -> net.Fault:
        """Slower segments."""
        return net.Latency(match, self.add, self.percent, self.for_)


@fault("bandwidth")
@frozen(kw_only=True)
class Limit(OnLinks):
    """Let processes share one link of limited bandwidth, as those of a site do; what is sent waits its turn."""

    rate: Bandwidth = key("Bytes a second each way: 300 kB/s, 10 MB/s, 1 Gbit/s.")
    for_: Duration | None = key("How long; without it, for good.", None)

    def on(self, matches: Sequence[net.Match]) -> list[net.Fault]:
        """One link for all of the processes."""
        if not matches:
            return []
        also = tuple(match.host for match in matches[1:] if match.host is not None)
        return [net.Limit(matches[0], self.rate, also, self.for_)]


@fault("break")
@frozen(kw_only=True)
class Break(OnLinks):
    """Break connections: what is in flight is lost, and its sender does not know how much of it arrived."""

    def of(self, match: net.Match) -> net.Fault:
        """Connections that break now."""
        return net.Break(match)


@fault("stall")
@frozen(kw_only=True)
class Stall(OnLinks):
    """Hold messages back without breaking the connection; they arrive when it ends."""

    for_: Duration = key("How long.")
    direction: Literal["both", "out", "in"] = key("Which way, seen from the process.", "both")

    def of(self, match: net.Match) -> net.Fault:
        """Segments that wait."""
        return net.Stall(match, net.Direction(self.direction), self.for_)


@fault("isolate")
@frozen(kw_only=True)
class Isolate(OnLinks):
    """Cut processes off for a while: nothing passes, and new connections get no answer."""

    for_: Duration = key("How long.")

    def of(self, match: net.Match) -> net.Fault:
        """A host without network."""
        return net.Isolate(match, self.for_)


@fault("refuse")
@frozen(kw_only=True)
class Refuse(OnLinks):
    """Refuse new connections for a while."""

    for_: Duration = key("How long.")

    def of(self, match: net.Match) -> net.Fault:
        """Connections that are not accepted."""
        return net.Refuse(match, self.for_)


@frozen(kw_only=True)
class OnMessages(Deed):
    """A fault that lies in wait for requests."""

    to: RequestTarget = key(_REQUEST)
    for_: Duration | None = key("How long to lie in wait; without it, until it has struck.", None)

    def perform(self, stage: Stage) -> None:
        """Lie in wait, for each process meant now."""
        every = self.to.nth == 0
        for host in stage.hosts(Processes((self.to.member,))):
            api, nth, times = _APIS[self.to.api], max(self.to.nth, 1), None if every else 1
            stage.inject(self.of(net.Match(host=host, api=api, nth=nth, times=times)))

    def of(self, match: net.Match) -> net.Fault:
        """The network's fault."""
        raise TypeError(f"{type(self).__name__} is no fault of messages")


@fault("lose-response")
@frozen(kw_only=True)
class LoseResponse(OnMessages):
    """The answer to a request never arrives: the broker has done it, the client cannot know."""

    after: Literal["break", "silence"] = key("What becomes of the connection.", "break")

    def of(self, match: net.Match) -> net.Fault:
        """An answer that is lost."""
        return net.LoseResponse(match, net.After(self.after), self.for_)


@fault("delay-response")
@frozen(kw_only=True)
class DelayResponse(OnMessages):
    """The answer to a request, and all behind it on that connection, comes late."""

    by: Duration = key("How late.")

    def of(self, match: net.Match) -> net.Fault:
        """An answer that is late."""
        return net.DelayResponse(match, self.by, self.for_)


@fault("answer-error")
@frozen(kw_only=True)
class AnswerError(OnMessages):
    """The broker answers a request with an error and does nothing."""

    is_: ErrorName = key("The error.")

    def of(self, match: net.Match) -> net.Fault:
        """An answer that is an error."""
        return net.AnswerError(match, ErrorCode[self.is_], self.for_)


@fault("fail-append")
@frozen(kw_only=True)
class FailAppend(Deed):
    """Make the next appends to `__consumer_offsets` fail."""

    group: TheGroup | None = key(_GROUP, None)
    error: ErrorName = key("The error, as NOT_ENOUGH_REPLICAS.", ErrorName("NOT_ENOUGH_REPLICAS"))
    appends: Positive = key("How many.", 1)

    def perform(self, stage: Stage) -> None:
        """Lie in wait."""
        stage.on_brokers.fail_appends(self.group, ErrorCode[self.error], self.appends)


@fault("freeze-broker")
@frozen(kw_only=True)
class FreezeBroker(Deed):
    """Stop a whole broker for a while, as a long garbage collection or a stuck disk does."""

    for_: Duration = key("How long.")
    broker: Broker = key("Which broker: a number, or `coordinator`.", Broker("coordinator"))

    def perform(self, stage: Stage) -> None:
        """Begin."""
        stage.on_brokers.freeze(self.broker, self.for_)


@fault("freeze-zookeeper")
@frozen(kw_only=True)
class FreezeZookeeper(Deed):
    """Stop ZooKeeper for a while, the whole ensemble of it; only where somebody uses it (client: zookeeper-0.8)."""

    for_: Duration = key("How long.")

    def perform(self, stage: Stage) -> None:
        """Begin. Raises ValueError where no member uses ZooKeeper."""
        stage.freeze_zookeeper(self.for_)


@fault("hold-appends")
@frozen(kw_only=True)
class HoldAppends(Deed):
    """Keep appends to a group's partition of `__consumer_offsets` from committing, as slow followers do."""

    for_: Duration = key("How long.")
    group: TheGroup | None = key(_GROUP, None)

    def perform(self, stage: Stage) -> None:
        """Begin."""
        stage.on_brokers.hold_appends(self.group, self.for_)


_FROM = "From whom: the controller, the other brokers, the clients, or all."


@fault("isolate-broker")
@frozen(kw_only=True)
class IsolateBroker(Deed):
    """Cut a broker off for a while from the controller, from the other brokers, from the clients, or from all."""

    for_: Duration = key("How long.")
    broker: Broker = key("Which broker: a number, or `coordinator`.", Broker("coordinator"))
    from_: Literal["controller", "brokers", "clients", "all"] = key(_FROM, "all")

    def perform(self, stage: Stage) -> None:
        """Begin."""
        for match in stage.on_brokers.matches(self.broker, self.from_):
            stage.inject(net.Isolate(match, self.for_))


@fault("cut-racks")
@frozen(kw_only=True)
class CutRacks(Deed):
    """Cut two racks (zones, sites) off from each other for a while: brokers with brokers, members with brokers.

    A member is in the rack that its client.rack names; one without it, and a producer, reaches both.
    """

    racks: Names = key("The two racks, of `cluster.racks`.")
    for_: Duration = key("How long.")
    controller: str | None = key("The rack of the controllers; without it, both racks reach them.", None)

    def __attrs_post_init__(self) -> None:
        if len(set(self.racks)) != 2 or len(self.racks) != 2:
            raise ValueError(f"`racks: [{', '.join(self.racks)}]` is no pair; write two racks, such as [a, b]")
        if self.controller not in (None, *self.racks):
            raise ValueError(f"`controller: {self.controller}` is neither of the two racks; write one of them")

    def perform(self, stage: Stage) -> None:
        """Begin."""
        for match in stage.on_brokers.between(self.racks, self.controller):
            stage.inject(net.Isolate(match, self.for_))


@fault("broker-latency")
@frozen(kw_only=True)
class BrokerLatency(Deed):
    """Make the messages between a broker and others slower for a while."""

    broker: Broker = key("Which broker: a number, or `coordinator`.", Broker("coordinator"))
    from_: Literal["controller", "brokers", "clients", "all"] = key(_FROM, "brokers")
    add: Duration = key("Added to the latency of each message.", 0)
    percent: Count = key("The latency itself, in percent of what it was.", 100)
    for_: Duration | None = key("How long; without it, for good.", None)

    def perform(self, stage: Stage) -> None:
        """Begin."""
        for match in stage.on_brokers.matches(self.broker, self.from_):
            stage.inject(net.Latency(match, self.add, self.percent, self.for_))


@fault("broker-bandwidth")
@frozen(kw_only=True)
class BrokerLimit(Deed):
    """Limit the bandwidth of a broker's link to others, as its network card does: all of them share it."""

    broker: Broker = key("Which broker: a number, or `coordinator`.", Broker("coordinator"))
    from_: Literal["controller", "brokers", "clients", "all"] = key(_FROM, "all")
    rate: Bandwidth = key("Bytes a second each way: 300 kB/s, 10 MB/s, 1 Gbit/s.")
    for_: Duration | None = key("How long; without it, for good.", None)

    def perform(self, stage: Stage) -> None:
        """Begin."""
        if self.from_ == "clients":
            matches = [net.Match(host=stage.broker_host(self.broker), purpose=CLIENTS)]
        else:
            matches = stage.on_brokers.matches(self.broker, self.from_)
        for match in matches:
            stage.inject(net.Limit(match, self.rate, for_us=self.for_))


NEED_LOGS = (IsolateBroker, CutRacks, BrokerLatency, Limit, BrokerLimit)
"""Faults that make no sense without logs on brokers."""
