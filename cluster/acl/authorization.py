"""What stands before the handlers of a broker with an authorizer.

A request comes to the gate as a `Visit`: who asks, what the authorizer says of them, and the ways on. The check of its
kind (`checks`) asks, and then lets it pass, lets a part of it pass and puts the rest back into the answer, or refuses
it. What brokers ask each other passes unasked: they speak on listeners of their own.

A principal comes from the listener that a client came by; there is one without authentication, so that every client is
User:ANONYMOUS.

Source: `KafkaApis`, `AuthHelper`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from groupsim.cluster.acl.operations import SUPPORTED, bits
from groupsim.cluster.acl.rules import Authorizer, Who
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.acl import ANONYMOUS, CLUSTER_NAME, Operation, Resource
from groupsim.protocol.messages.group import HeartbeatResponse, Request, Response
from groupsim.protocol.messages.refusals import refusal

if TYPE_CHECKING:
    from groupsim.cluster.network.broker_connection import Line
    from groupsim.protocol.messages.cluster import ClusterImage

Handler: TypeAlias = Callable[[Any, Any], None]
Check: TypeAlias = Callable[["Visit", Any], None]
Reshape: TypeAlias = Callable[[Any], Response]

_BETWEEN_BROKERS = "replication"
_REFUSED = HeartbeatResponse(ErrorCode.GROUP_AUTHORIZATION_FAILED)


class Visit:
    """One request at the gate."""

    __slots__ = ("_authorizer", "_pass_on", "_who", "call", "image")

    def __init__(self, call: Line, authorizer: Authorizer, image: ClusterImage, pass_on: Handler) -> None:
        self.call = call
        self.image = image
        self._authorizer = authorizer
        self._who = who_is(call)
        self._pass_on = pass_on

    # --- asking ----------------------------------------------------------------------------------------------

    def may(self, operation: Operation, resource: Resource, name: str) -> bool:
        """Whether who asks may do this with a resource."""
        return self._authorizer.allows(self._who, operation, resource, name)

    def may_with_cluster(self, operation: Operation) -> bool:
        """Whether who asks may do this with the cluster."""
        return self.may(operation, Resource.CLUSTER, CLUSTER_NAME)

    def may_with_some(self, operation: Operation, resource: Resource) -> bool:
        """Whether who asks may do this with any resource of the kind."""
        return self._authorizer.allows_some(self._who, operation, resource)

    def allowed(self, operation: Operation, resource: Resource, names: Iterable[str]) -> dict[str, bool]:
        """By name, whether who asks may do this with the resource."""
        return {name: self.may(operation, resource, name) for name in dict.fromkeys(names)}

    def operations(self, resource: Resource, name: str) -> int:
        """What who asks may do with a resource: one bit for each operation that clients are told of."""
        return bits(operation for operation in SUPPORTED[resource] if self.may(operation, resource, name))

    def cluster_operations(self) -> int:
        """What who asks may do with the cluster; 0 for who may not even see it."""
        seen = self.may_with_cluster(Operation.DESCRIBE)
        return self.operations(Resource.CLUSTER, CLUSTER_NAME) if seen else 0

    # --- the ways on -----------------------------------------------------------------------------------------

    def go_on(self, request: Request) -> None:
        """Nothing is in the way of the request as it came."""
        self._pass_on(self.call, request)

    def go_on_with(self, request: Request, reshape: Reshape) -> None:
        """Carry this out instead; `reshape` makes the answer to what was asked of the answer to that."""
        self._pass_on(Reshaped(self.call, request, reshape), request)

    def answer(self, response: Response) -> None:
        """Answer without asking anybody further."""
        self.call.answer(response)

    def refuse(self, error: ErrorCode) -> None:
        """Refuse all of it."""
        self.call.answer(refusal(self.call.request, error))


class Reshaped:
    """A call whose request is another than came, and whose answer is made into one to what came."""

    __slots__ = ("_call", "_reshape", "request")

    def __init__(self, call: Line, request: Request, reshape: Reshape) -> None:
        self._call = call
        self._reshape = reshape
        self.request = request

    @property
    def client_id(self) -> str:
        return self._call.client_id

    @property
    def client_host(self) -> str:
        return self._call.client_host

    @property
    def correlation(self) -> int:
        return self._call.correlation

    @property
    def busy(self) -> bool:
        return self._call.busy

    @property
    def took_us(self) -> int:
        return self._call.took_us

    @took_us.setter
    def took_us(self, took_us: int) -> None:
        self._call.took_us = took_us

    @property
    def give_up(self) -> Callable[[], None] | None:
        return self._call.give_up

    @give_up.setter
    def give_up(self, give_up: Callable[[], None] | None) -> None:
        self._call.give_up = give_up

    def answer(self, response: Response) -> None:
        self._call.answer(self._reshape(response))

    def no_answer(self) -> None:
        """See `lines.Line.no_answer`: it was a Produce of which a part was refused, and there is one way to tell so."""
        self._call.cut("the broker closed the connection")

    def cut(self, reason: str) -> None:
        self._call.cut(reason)


class Gate:
    """The gate of one life of a broker."""

    def __init__(self, authorizer: Authorizer, image: Callable[[], ClusterImage], checks: Mapping[type, Check]) -> None:
        self._authorizer = authorizer
        self._image = image
        self._checks = checks

    def visit(self, call: Line, pass_on: Handler) -> Visit:
        """Somebody is at the gate; `pass_on` is the handler behind it."""
        return Visit(call, self._authorizer, self._image(), pass_on)

    def guarded(self, handlers: Mapping[type, Handler], others: Handler) -> dict[type, Handler]:
        """The handlers with the gate before them; `others` takes the requests that have a check and no handler.

        Raises KeyError for a request without a check.
        """
        kinds = dict.fromkeys((*handlers, *self._checks))
        return {kind: self._guarded(self._checks[kind], handlers.get(kind, others)) for kind in kinds}

    def _guarded(self, check: Check, handler: Handler) -> Handler:
        def pass_gate(call: Line, request: Any) -> None:
            if call.purpose == _BETWEEN_BROKERS:
                handler(call, request)
            else:
                check(self.visit(call, handler), request)

        return pass_gate


def who_is(call: Line) -> Who:
    """Who is at the other end of a connection."""
    return Who(ANONYMOUS, call.client_host.removeprefix("/"))
