"""Faults of the network and of the brokers.

Single bytes are not lost, because TCP repeats them: connections are lost, stalled or slow. A fault with a duration
(`for`) has a begin and an end in the trace, and leaves no change behind. The classes map the names of a file to the
network's faults (`cluster/network/faults.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from groupsim.cluster.network import faults as net
from groupsim.cluster.network.link_faults import CLIENTS
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import Api
from groupsim.protocol.values import frozen
from groupsim.scenarios.language.keys import key
from groupsim.scenarios.language.registry import StepAction, fault
from groupsim.scenarios.language.targets import Broker, Processes, RequestTarget, TheGroup
from groupsim.scenarios.language.values import Bandwidth, Count, Duration, ErrorName, Names, Positive
from groupsim.scenarios.steps.actions import GROUP, PROCESSES

if TYPE_CHECKING:
    from groupsim.scenarios.runtime.stage import Stage

_BROKER = "Only connections to this broker: a number, or `coordinator`."
_REQUEST = "The requests: `next JoinGroup of c2`, `the third Heartbeat of leader`, `every SyncGroup of all`."

_APIS = {api.title: api for api in Api}


@frozen(kw_only=True)
class OnLinks(StepAction):
    """A fault of connections; its targets are resolved when it begins."""

    member: Processes = key(PROCESSES)
    broker: Broker | None = key(_BROKER, None)
    connection: Literal["coordinator", "data", "zookeeper"] | None = key("Only this kind of connection.", None)

    def perform(self, stage: Stage) -> None:
        """Begin the fault for each process."""
        peer = stage.broker_host(self.broker) if self.broker is not None else None
        hosts = stage.hosts(self.member)
        for fault_ in self.on([net.Match(host=host, peer=peer, purpose=self.connection) for host in hosts]):
            stage.inject(fault_)

    def on(self, matches: Sequence[net.Match]) -> list[net.Fault]:
        """Return the network's faults for these matches, which differ only in the host."""
        return [self.of(match) for match in matches]

    def of(self, match: net.Match) -> net.Fault:
        """Return the network's fault."""
        raise TypeError(f"{type(self).__name__} is not a fault of connections")


@fault("latency")
@frozen(kw_only=True)
class Latency(OnLinks):
    """Make the messages of some processes slower for a while."""

    add: Duration = key("Time added to the latency of each message.", 0)
    percent: Count = key("The latency in percent of its normal value.", 100)
    for_: Duration | None = key("How long; by default for good.", None)

    def of(self, match: net.Match) -> net.Fault:
        """Return slower segments."""
        return net.Latency(match, self.add, self.percent, self.for_)


@fault("bandwidth")
@frozen(kw_only=True)
class Limit(OnLinks):
    """Let processes share one link of limited bandwidth, like those of a site; messages queue for it."""

    rate: Bandwidth = key("Bytes a second each way: 300 kB/s, 10 MB/s, 1 Gbit/s.")
    for_: Duration | None = key("How long; by default for good.", None)

    def on(self, matches: Sequence[net.Match]) -> list[net.Fault]:
        """Return one link for all of the processes."""
        if not matches:
            return []
        also = tuple(match.host for match in matches[1:] if match.host is not None)
        return [net.Limit(matches[0], self.rate, also, self.for_)]


@fault("break")
@frozen(kw_only=True)
class Break(OnLinks):
    """Break connections: messages in flight are lost, and the sender does not know how much arrived."""

    def of(self, match: net.Match) -> net.Fault:
        """Return connections that break now."""
        return net.Break(match)


@fault("stall")
@frozen(kw_only=True)
class Stall(OnLinks):
    """Delay messages without breaking the connection; they arrive when the fault ends."""

    for_: Duration = key("How long.")
    direction: Literal["both", "out", "in"] = key("The direction, seen from the process.", "both")

    def of(self, match: net.Match) -> net.Fault:
        """Return segments that wait."""
        return net.Stall(match, net.Direction(self.direction), self.for_)


@fault("isolate")
@frozen(kw_only=True)
class Isolate(OnLinks):
    """Cut processes off for a while: no message passes, and new connections get no answer."""

    for_: Duration = key("How long.")

    def of(self, match: net.Match) -> net.Fault:
        """Return a host without network."""
        return net.Isolate(match, self.for_)


@fault("refuse")
@frozen(kw_only=True)
class Refuse(OnLinks):
    """Refuse new connections for a while."""

    for_: Duration = key("How long.")

    def of(self, match: net.Match) -> net.Fault:
        """Return connections that are not accepted."""
        return net.Refuse(match, self.for_)


@frozen(kw_only=True)
class OnMessages(StepAction):
    """A fault that waits for requests."""

    to: RequestTarget = key(_REQUEST)
    for_: Duration | None = key("How long to wait for a request; by default until one comes.", None)

    def perform(self, stage: Stage) -> None:
        """Wait for the requests of each target process."""
        every = self.to.nth == 0
        for host in stage.hosts(Processes((self.to.member,))):
            api, nth, times = _APIS[self.to.api], max(self.to.nth, 1), None if every else 1
            stage.inject(self.of(net.Match(host=host, api=api, nth=nth, times=times)))

    def of(self, match: net.Match) -> net.Fault:
        """Return the network's fault."""
        raise TypeError(f"{type(self).__name__} is not a fault of messages")


@fault("lose-response")
@frozen(kw_only=True)
class LoseResponse(OnMessages):
    """Lose the response to a request: the broker has performed it, the client cannot know."""

    after: Literal["break", "silence"] = key("Whether the connection breaks, or stays open and silent.", "break")

    def of(self, match: net.Match) -> net.Fault:
        """Return a lost response."""
        return net.LoseResponse(match, net.After(self.after), self.for_)


@fault("delay-response")
@frozen(kw_only=True)
class DelayResponse(OnMessages):
    """Delay the response to a request, and all responses behind it on that connection."""

    by: Duration = key("The delay.")

    def of(self, match: net.Match) -> net.Fault:
        """Return a late response."""
        return net.DelayResponse(match, self.by, self.for_)


@fault("answer-error")
@frozen(kw_only=True)
class AnswerError(OnMessages):
    """Let the broker answer a request with an error, without performing it."""

    is_: ErrorName = key("The error.")

    def of(self, match: net.Match) -> net.Fault:
        """Return a response with an error."""
        return net.AnswerError(match, ErrorCode[self.is_], self.for_)


@fault("fail-append")
@frozen(kw_only=True)
class FailAppend(StepAction):
    """Make the next appends to `__consumer_offsets` fail."""

    group: TheGroup | None = key(GROUP, None)
    error: ErrorName = key("The error, such as NOT_ENOUGH_REPLICAS.", ErrorName("NOT_ENOUGH_REPLICAS"))
    appends: Positive = key("How many.", 1)

    def perform(self, stage: Stage) -> None:
        """Let the next appends fail."""
        stage.on_brokers.fail_appends(self.group, ErrorCode[self.error], self.appends)


@fault("freeze-broker")
@frozen(kw_only=True)
class FreezeBroker(StepAction):
    """Stop a whole broker for a while, as a long garbage collection or a stuck disk does."""

    for_: Duration = key("How long.")
    broker: Broker = key("The broker: a number, or `coordinator`.", Broker("coordinator"))

    def perform(self, stage: Stage) -> None:
        """Pause the broker."""
        stage.on_brokers.freeze(self.broker, self.for_)


@fault("freeze-zookeeper")
@frozen(kw_only=True)
class FreezeZookeeper(StepAction):
    """Stop ZooKeeper, the whole ensemble, for a while; a member must use it (client: zookeeper-0.8)."""

    for_: Duration = key("How long.")

    def perform(self, stage: Stage) -> None:
        """Pause ZooKeeper. Raises ValueError if no member uses it."""
        stage.freeze_zookeeper(self.for_)


@fault("hold-appends")
@frozen(kw_only=True)
class HoldAppends(StepAction):
    """Keep appends to a group's partition of `__consumer_offsets` from committing, as slow followers do."""

    for_: Duration = key("How long.")
    group: TheGroup | None = key(GROUP, None)

    def perform(self, stage: Stage) -> None:
        """Begin the fault."""
        stage.on_brokers.hold_appends(self.group, self.for_)


_FROM = "The other end: the controller, the other brokers, the clients, or all."


@fault("isolate-broker")
@frozen(kw_only=True)
class IsolateBroker(StepAction):
    """Cut a broker off for a while from the controller, from the other brokers, from the clients, or from all."""

    for_: Duration = key("How long.")
    broker: Broker = key("The broker: a number, or `coordinator`.", Broker("coordinator"))
    from_: Literal["controller", "brokers", "clients", "all"] = key(_FROM, "all")

    def perform(self, stage: Stage) -> None:
        """Isolate the broker."""
        for match in stage.on_brokers.matches(self.broker, self.from_):
            stage.inject(net.Isolate(match, self.for_))


@fault("cut-racks")
@frozen(kw_only=True)
class CutRacks(StepAction):
    """Cut two racks (zones, sites) off from each other for a while: brokers and brokers, members and brokers.

    A member is in the rack of its client.rack; a member without one, and a producer, reaches both.
    """

    racks: Names = key("The two racks, of `cluster.racks`.")
    for_: Duration = key("How long.")
    controller: str | None = key("The rack of the controllers; by default both racks reach them.", None)

    def __attrs_post_init__(self) -> None:
        if len(set(self.racks)) != 2 or len(self.racks) != 2:
            raise ValueError(f"`racks: [{', '.join(self.racks)}]` is not a pair; write two racks, such as [a, b]")
        if self.controller not in (None, *self.racks):
            raise ValueError(f"`controller: {self.controller}` is not one of the racks; write one of the two")

    def perform(self, stage: Stage) -> None:
        """Cut the links."""
        for match in stage.on_brokers.between(self.racks, self.controller):
            stage.inject(net.Isolate(match, self.for_))


@fault("broker-latency")
@frozen(kw_only=True)
class BrokerLatency(StepAction):
    """Make the messages between a broker and others slower for a while."""

    broker: Broker = key("The broker: a number, or `coordinator`.", Broker("coordinator"))
    from_: Literal["controller", "brokers", "clients", "all"] = key(_FROM, "brokers")
    add: Duration = key("Time added to the latency of each message.", 0)
    percent: Count = key("The latency in percent of its normal value.", 100)
    for_: Duration | None = key("How long; by default for good.", None)

    def perform(self, stage: Stage) -> None:
        """Slow the links."""
        for match in stage.on_brokers.matches(self.broker, self.from_):
            stage.inject(net.Latency(match, self.add, self.percent, self.for_))


@fault("broker-bandwidth")
@frozen(kw_only=True)
class BrokerLimit(StepAction):
    """Limit the bandwidth of a broker's link to others, as its network card does; all of them share it."""

    broker: Broker = key("The broker: a number, or `coordinator`.", Broker("coordinator"))
    from_: Literal["controller", "brokers", "clients", "all"] = key(_FROM, "all")
    rate: Bandwidth = key("Bytes a second each way: 300 kB/s, 10 MB/s, 1 Gbit/s.")
    for_: Duration | None = key("How long; by default for good.", None)

    def perform(self, stage: Stage) -> None:
        """Limit the links."""
        if self.from_ == "clients":
            matches = [net.Match(host=stage.broker_host(self.broker), purpose=CLIENTS)]
        else:
            matches = stage.on_brokers.matches(self.broker, self.from_)
        for match in matches:
            stage.inject(net.Limit(match, self.rate, for_us=self.for_))


NEED_LOGS = (IsolateBroker, CutRacks, BrokerLatency, Limit, BrokerLimit)
"""Faults that need brokers with logs."""
