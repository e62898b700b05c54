"""The translation of one message: requests of ours, and one response from their answers.

A Kafka client sends one message; the rooms above have smaller ones. A batched FindCoordinator is several of ours, a
Fetch may have topics with unknown ids, a message may need no broker at all. An `Exchange` holds both halves of that
translation: `requests`, which are executed one after the other, each answered once, and `response`, which encodes the
one response from their answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import Request, Response


class Directory(Protocol):
    """The names that one broker knows: topics by id, brokers by address. It is read for every message."""

    @property
    def cluster_id(self) -> str:
        """The cluster's id: 22 characters, base64 as Kafka prints it."""

    @property
    def controller(self) -> int:
        """The node that answers administrators: one of the brokers; -1 when none is up."""

    def topic_id(self, name: str) -> str | None:
        """Return the id of a topic (22 characters, base64 as Kafka prints it), None for an unknown one."""

    def topic_name(self, topic_id: str) -> str | None:
        """Return the topic of an id, None for an unknown one."""

    def address(self, node: int) -> tuple[str, int]:
        """Return host and port of a broker for clients; ("", -1) for an unknown one."""

    def rack(self, node: int) -> str | None:
        """Return the rack of a broker."""


class Exchange(Protocol):
    """One message of a client, with its translation in both directions."""

    @property
    def requests(self) -> Sequence[Request]:
        """The requests to execute, in order; may be empty."""

    @property
    def answered(self) -> bool:
        """False for the one message that gets no response: Produce with acks=0."""

    def response(self, answers: Sequence[Response]) -> bytes:
        """Return the response from one answer per request, header included, without its length prefix."""

    def refusal(self, error: ErrorCode) -> bytes:
        """Return the response with `error` for every item of the request, as Kafka's `getErrorResponse`."""


class Lengthy(Exception):
    """A message with more elements than the caller allows: it has to be read where a long read does no harm."""


class Unreadable(Exception):
    """Bytes that are no request a broker takes: the connection is closed. The text names the field, for the log."""
