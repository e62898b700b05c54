"""What a request from a wire becomes: requests of ours, and the way from their answers back to one response.

A Kafka client sends one message; the rooms above know smaller ones. A batched FindCoordinator is several of ours, a
Fetch may name topics by an id that nobody knows, a message may need no broker at all. An `Exchange` holds both halves
of that translation: `requests`, which are carried out one after the other, each answered once, and `response`, which
makes the bytes of the one response from their answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import Request, Response


class Directory(Protocol):
    """What one broker can say about names: topics by id, brokers by address. Asked anew for every message."""

    @property
    def cluster_id(self) -> str:
        """The cluster's id: 22 characters, base64 as Kafka prints it."""

    @property
    def controller(self) -> int:
        """The node that administrators are sent to: one of the brokers; -1 when none is up."""

    def topic_id(self, name: str) -> str | None:
        """The id of a topic (22 characters, base64 as Kafka prints it), None for an unknown one."""

    def topic_name(self, topic_id: str) -> str | None:
        """The topic of an id, None for an unknown one."""

    def address(self, node: int) -> tuple[str, int]:
        """Host and port under which clients reach a broker; ("", -1) for one that was never there."""

    def rack(self, node: int) -> str | None:
        """The rack of a broker."""


class Exchange(Protocol):
    """One message of a client on its way in and out."""

    @property
    def requests(self) -> Sequence[Request]:
        """What has to be carried out, in order; may be empty."""

    @property
    def answered(self) -> bool:
        """False for the one message that gets no response: Produce with acks=0."""

    def response(self, answers: Sequence[Response]) -> bytes:
        """The response from one answer per request, header included, without the length that goes before it."""

    def refusal(self, error: ErrorCode) -> bytes:
        """The response that says `error` to everything that was asked, as Kafka's `getErrorResponse`."""


class Lengthy(Exception):
    """A message with more elements than were allowed for: it has to be read where that may take its time."""


class Unreadable(Exception):
    """Bytes that are no request a broker takes: the connection is closed. Says what and where, for the log."""
