"""Begin and end of faults: each emits two trace events, and the first is the cause of the fault's effects."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from attrs import evolve

from groupsim.cluster.network.bandwidth import Bandwidth
from groupsim.cluster.network.causes import caused_by
from groupsim.cluster.network.faults import (
    AnswerError,
    Break,
    DelayResponse,
    Direction,
    Fault,
    HoldResponse,
    Isolate,
    Latency,
    Limit,
    LoseResponse,
    Refuse,
    Stall,
    fault_data,
)
from groupsim.cluster.network.link_faults import Condition
from groupsim.eventloop.interface import Handle
from groupsim.eventloop.trace.events import Kind

if TYPE_CHECKING:
    from groupsim.cluster.network.broker_connection import BrokerConnection
    from groupsim.cluster.network.network import Network


class FaultHandle:
    """One injected fault. `seen` counts matching messages, `hits` affected ones; `over` is true after its end."""

    def __init__(self, network: Network, fault: Fault) -> None:
        self.fault = fault
        self.seen = 0
        self.hits = 0
        self.over = False
        self._network = network
        self._trace = network.loop.trace
        self._condition: Condition | None = None
        self._held: list[Condition] = []
        self._timer: Handle | None = None
        self.span = self._trace.span()
        self.seq = 0

    def __repr__(self) -> str:
        return f"<{self.fault}: {self.seen} seen, {self.hits} struck{', over' if self.over else ''}>"

    def begin(self) -> None:
        """Put the fault in force; `Network.inject` does this."""
        fault, match = self.fault, self.fault.match
        host = self._network.resolve(match)
        self.seq = self._trace.emit(
            Kind.FAULT_BEGUN,
            host=host if host != "*" else None,
            group=match.group,
            api=match.api.title if match.api is not None else None,
            reason=str(fault),
            span=self.span,
            payload=fault_data(fault),
        )
        with self.blamed():
            self._apply(fault, host)

    def _apply(self, fault: Fault, host: str | None) -> None:
        if isinstance(fault, LoseResponse | DelayResponse | HoldResponse | AnswerError):
            self._network.add_message_fault(fault, self)
        elif host is None:
            self.end("nothing matched")
            return
        elif isinstance(fault, Break):
            self._break(fault, host)
            return
        else:
            self._condition = self._make(fault, host)
            self.hits = self._network.impose(self._condition)
            for other in fault.also if isinstance(fault, Limit) else ():
                self._held.append(evolve(self._condition, host=other))
                self.hits += self._network.impose(self._held[-1])
        if fault.for_us is not None:
            loop = self._network.loop
            self._timer = loop.call_at(loop.now_us + fault.for_us, self._time_up)

    def _make(self, fault: Latency | Limit | Stall | Isolate | Refuse, host: str) -> Condition:
        match = fault.match
        stall = fault.direction if isinstance(fault, Stall) else None
        both = isinstance(fault, Isolate) or stall is Direction.BOTH
        return Condition(
            host=host,
            peer=match.peer or "*",
            purpose=match.purpose,
            seq=self.seq,
            out=both or stall is Direction.OUT,
            in_=both or stall is Direction.IN,
            refuse=isinstance(fault, Refuse),
            add_us=fault.add_us if isinstance(fault, Latency) else 0,
            percent=fault.percent if isinstance(fault, Latency) else 100,
            link=Bandwidth(fault.per_second) if isinstance(fault, Limit) else None,
        )

    def _break(self, fault: Break, host: str) -> None:
        at = Condition(host=host, peer=fault.match.peer or "*", purpose=fault.match.purpose)
        for connection in self._network.affected(at):
            connection.cut(fault.reason)
            self.hits += 1
        self.end()

    def hold(self, connection: BrokerConnection) -> None:
        """Stall responses from a connection's broker to its client until the fault ends."""
        client, broker = connection.host_name, connection.broker_host.name
        self._held.append(Condition(host=broker, peer=client, seq=self.seq, out=True))
        self._network.impose(self._held[-1])

    def spent(self) -> None:
        """End a fault that has struck `times` times, unless it holds responses: then it waits for `end`."""
        if isinstance(self.fault, HoldResponse):
            return
        times = self.fault.match.times
        if times is not None and self.hits >= times:
            self.end()

    def _time_up(self, _: object) -> None:
        self.end()

    def end(self, reason: str | None = None) -> None:
        """End the fault; without effect when it is over."""
        if self.over:
            return
        self.over = True
        if self._timer is not None:
            self._network.loop.cancel(self._timer)
        self._trace.emit(Kind.FAULT_ENDED, reason=reason, span=self.span, cause=self.seq, payload={"hits": self.hits})
        with self.blamed():
            if self._condition is not None:
                self._network.lift(self._condition)
            else:
                self._network.remove_message_fault(self)
            for condition in self._held:
                self._network.lift(condition)

    def blamed(self) -> AbstractContextManager[None]:
        """Make the fault the cause of all events in the block."""
        return caused_by(self._trace, self.seq)
