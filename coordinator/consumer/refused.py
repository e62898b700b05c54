"""The refusal of a request to a consumer group: an error with Kafka's message.

Kafka throws an exception of the error (`ApiException`), and nothing that the request has done so far is written.
"""

from __future__ import annotations

from groupsim.protocol.errors import ErrorCode


class Refused(Exception):
    """The request is refused; the operation leaves no record."""

    def __init__(self, error: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.error = error
        self.message = message
