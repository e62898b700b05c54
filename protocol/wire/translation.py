"""The usual exchange: requests of ours, and a function that tells their answers as one message."""

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
_NO_OPERATIONS = (2, 5)  # from this release on operations that are not told are -2147483648, before it 0


class Translation:
    """One message of a client on its way in and out (see `Exchange`).

    `tell` makes the fields of the response from one answer per request, refusals among them. Where that would leave
    something unsaid, `refused` makes the fields of a refusal.
    """

    __slots__ = ("_header", "_refused", "_tell", "answered", "requests")

    def __init__(
        self,
        header: Header,
        requests: tuple[Request, ...],
        tell: Callable[[Sequence[Any]], Fields],
        *,
        answered: bool = True,
        refused: Callable[[ErrorCode], Fields] | None = None,
    ) -> None:
        self._header = header
        self._tell = tell
        self._refused = refused
        self.requests = requests
        self.answered = answered

    def response(self, answers: Sequence[Response]) -> bytes:
        """The response from one answer per request."""
        return encode_response(self._header, self._tell(answers))

    def refusal(self, error: ErrorCode) -> bytes:
        """The response in which every request is answered with `error`."""
        if self._refused is not None:
            return encode_response(self._header, self._refused(error))
        return self.response([refusal(request, error) for request in self.requests])


def operations_of(operations: int, header: Header) -> int:
    """The authorised operations of an answer; where they were not asked for, the value that this release gives."""
    return 0 if operations == NOT_ASKED and header.release < _NO_OPERATIONS else operations


def parts(items: Sequence[T]) -> list[Sequence[T]]:
    """What was asked for, in pieces that are carried out one after the other with a breath between them.

    At least one piece: who asks for nothing is answered, too.
    """
    return [items[at : at + _IN_ONE_PIECE] for at in range(0, len(items), _IN_ONE_PIECE)] or [items]


def one(header: Header, request: Request, tell: Callable[[Any], Fields]) -> Translation:
    """The exchange of a message that is one request of ours: `tell` takes its one answer."""
    return Translation(header, (request,), lambda answers: tell(answers[0]))
