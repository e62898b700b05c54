"""The usual exchange: requests of ours, and a function that makes one message of their answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.acl import NOT_ASKED
from groupsim.protocol.messages.group import Request, Response
from groupsim.protocol.messages.refusals import refusal
from groupsim.protocol.wire.headers import Header, encode_response
from groupsim.protocol.wire.serial import Fields

T = TypeVar("T")

_IN_ONE_PIECE = 500
_NO_OPERATIONS = (2, 5)  # from this release on absent operations are -2147483648, before it 0


class Translation:
    """One message of a client, with its translation in both directions (see `Exchange`).

    `encode` makes the fields of the response from one answer per request, refusals among them. Where that cannot
    express a refusal, `refused` makes its fields.
    """

    __slots__ = ("_encode", "_header", "_refused", "answered", "requests")

    def __init__(
        self,
        header: Header,
        requests: tuple[Request, ...],
        encode: Callable[[Sequence[Any]], Fields],
        *,
        answered: bool = True,
        refused: Callable[[ErrorCode], Fields] | None = None,
    ) -> None:
        self._header = header
        self._encode = encode
        self._refused = refused
        self.requests = requests
        self.answered = answered

    def response(self, answers: Sequence[Response]) -> bytes:
        """Return the response from one answer per request."""
        return encode_response(self._header, self._encode(answers))

    def refusal(self, error: ErrorCode) -> bytes:
        """Return the response in which every request is answered with `error`."""
        if self._refused is not None:
            return encode_response(self._header, self._refused(error))
        return self.response([refusal(request, error) for request in self.requests])


def operations_of(operations: int, header: Header) -> int:
    """Return the authorized operations of an answer; where the request did not ask for them, this release's value."""
    return 0 if operations == NOT_ASKED and header.release < _NO_OPERATIONS else operations


def parts(items: Sequence[T]) -> list[Sequence[T]]:
    """Return the items of a request in pieces, which are executed one after the other with a pause between them.

    At least one piece: an empty request is answered, too.
    """
    return [items[at : at + _IN_ONE_PIECE] for at in range(0, len(items), _IN_ONE_PIECE)] or [items]


def one(header: Header, request: Request, encode: Callable[[Any], Fields]) -> Translation:
    """Return the exchange of a message that is one request of ours: `encode` takes its one answer."""
    return Translation(header, (request,), lambda answers: encode(answers[0]))
