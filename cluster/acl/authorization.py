"""Authorization before the handlers of a broker with an authorizer.

An `AuthContext` holds a request, its caller and the authorizer, which the check of the request (`checks`) asks.
Then it forwards the request, forwards the allowed part and adds the refused part to the answer, or refuses the request.
Requests between brokers are not checked: brokers use a listener of their own.

The listener of clients has no authentication, so the principal of every client is User:ANONYMOUS.

Source: `KafkaApis`, `AuthHelper`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from groupsim.cluster.acl.operations import SUPPORTED, bits
from groupsim.cluster.acl.rules import Authorizer, Caller
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.acl import ANONYMOUS, CLUSTER_NAME, Operation, Resource
from groupsim.protocol.messages.group import HeartbeatResponse, Request, Response
from groupsim.protocol.messages.refusals import refusal

if TYPE_CHECKING:
    from groupsim.cluster.network.broker_connection import BrokerConnection
    from groupsim.protocol.messages.cluster import ClusterImage

Handler: TypeAlias = Callable[[Any, Any], None]
Check: TypeAlias = Callable[["AuthContext", Any], None]
Reshape: TypeAlias = Callable[[Any], Response]

_BETWEEN_BROKERS = "replication"
_REFUSED = HeartbeatResponse(ErrorCode.GROUP_AUTHORIZATION_FAILED)


class AuthContext:
    """One request under authorization."""

    __slots__ = ("_authorizer", "_caller", "_pass_on", "call", "image")

    def __init__(self, call: BrokerConnection, authorizer: Authorizer, image: ClusterImage, pass_on: Handler) -> None:
        self.call = call
        self.image = image
        self._authorizer = authorizer
        self._caller = caller_of(call)
        self._pass_on = pass_on

    # --- checks ----------------------------------------------------------------------------------------------

    def allows(self, operation: Operation, resource: Resource, name: str) -> bool:
        """Whether the caller may perform an operation on a resource."""
        return self._authorizer.allows(self._caller, operation, resource, name)

    def allows_cluster(self, operation: Operation) -> bool:
        """Whether the caller may perform an operation on the cluster."""
        return self.allows(operation, Resource.CLUSTER, CLUSTER_NAME)

    def allows_by_type(self, operation: Operation, resource: Resource) -> bool:
        """Whether the caller may perform an operation on at least one resource of the type."""
        return self._authorizer.allows_by_type(self._caller, operation, resource)

    def allowed(self, operation: Operation, resource: Resource, names: Iterable[str]) -> dict[str, bool]:
        """Return by name whether the caller may perform an operation on the resource."""
        return {name: self.allows(operation, resource, name) for name in dict.fromkeys(names)}

    def operations(self, resource: Resource, name: str) -> int:
        """Operations the caller may perform on a resource, as a bit set."""
        return bits(operation for operation in SUPPORTED[resource] if self.allows(operation, resource, name))

    def cluster_operations(self) -> int:
        """Operations the caller may perform on the cluster, as a bit set; 0 if it may not describe it."""
        described = self.allows_cluster(Operation.DESCRIBE)
        return self.operations(Resource.CLUSTER, CLUSTER_NAME) if described else 0

    # --- outcomes --------------------------------------------------------------------------------------------

    def forward(self, request: Request) -> None:
        """Pass the unchanged request to its handler."""
        self._pass_on(self.call, request)

    def forward_with(self, request: Request, reshape: Reshape) -> None:
        """Pass another request to the handler; `reshape` turns its answer into the answer to the client's request."""
        self._pass_on(ReshapedCall(self.call, request, reshape), request)

    def forward_as(self, call: ReshapedCall) -> None:
        """Pass another call to the handler, with its request."""
        self._pass_on(call, call.request)

    def answer(self, response: Response) -> None:
        """Answer without the handler."""
        self.call.answer(response)

    def refuse(self, error: ErrorCode) -> None:
        """Answer the whole request with one error."""
        self.call.answer(refusal(self.call.request, error))


def unchecked(auth: AuthContext, request: Any) -> None:
    """Forward a request that needs no permission, or whose handler asks for it."""
    auth.forward(request)


def _error_only(request: Request) -> Response:
    answer: Response = refusal(request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    return answer


def of_cluster(operation: Operation, refused: Reshape = _error_only) -> Check:
    """Return the check of requests that need this operation on the cluster; `refused` makes the other answer."""

    def check(auth: AuthContext, request: Any) -> None:
        if auth.allows_cluster(operation):
            auth.forward(request)
        else:
            auth.answer(refused(request))

    return check


class ReshapedCall:
    """A call with a changed request, whose answer is turned into an answer to the client's request."""

    __slots__ = ("_call", "_reshape", "request")

    def __init__(self, call: BrokerConnection, request: Request, reshape: Reshape) -> None:
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
        """Close the connection: a part of a Produce with acks=0 was refused (`KafkaApis.handleProduceRequest`)."""
        self._call.cut("the broker closed the connection")

    def cut(self, reason: str) -> None:
        self._call.cut(reason)


def _unchanged(answer: Any) -> Response:
    response: Response = answer
    return response


class DescribingCall(ReshapedCall):
    """A call whose handler asks later which topics the caller may describe (`coordinator.base.interfaces`)."""

    __slots__ = ("_auth",)

    def __init__(self, auth: AuthContext, request: Request) -> None:
        super().__init__(auth.call, request, _unchanged)
        self._auth = auth

    def describable(self, names: Iterable[str]) -> Collection[str]:
        """Return those of the topics that the caller may describe now."""
        allowed = self._auth.allowed(Operation.DESCRIBE, Resource.TOPIC, names)
        return [name for name in allowed if allowed[name]]


class Authorization:
    """The checks of one life of a broker."""

    def __init__(self, authorizer: Authorizer, image: Callable[[], ClusterImage], checks: Mapping[type, Check]) -> None:
        self._authorizer = authorizer
        self._image = image
        self._checks = checks

    def context(self, call: BrokerConnection, pass_on: Handler) -> AuthContext:
        """Return the context of a request whose handler is `pass_on`."""
        return AuthContext(call, self._authorizer, self._image(), pass_on)

    def guarded(self, handlers: Mapping[type, Handler], others: Handler) -> dict[type, Handler]:
        """Return the handlers with their checks; `others` handles the requests that have a check and no handler.

        Raises KeyError for a request without a check.
        """
        kinds = dict.fromkeys((*handlers, *self._checks))
        return {kind: self._guarded(self._checks[kind], handlers.get(kind, others)) for kind in kinds}

    def _guarded(self, check: Check, handler: Handler) -> Handler:
        def check_and_handle(call: BrokerConnection, request: Any) -> None:
            if call.purpose == _BETWEEN_BROKERS:
                handler(call, request)
            else:
                check(self.context(call, handler), request)

        return check_and_handle


def caller_of(call: BrokerConnection) -> Caller:
    """Return the caller at the client's end of a connection."""
    return Caller(ANONYMOUS, call.client_host.removeprefix("/"))
