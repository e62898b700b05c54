"""Exceptions that a consumer's `poll` throws.

The application sees a `ClientFailure`, and polls again or ends (`Behaviour.on_error`). A `PluginError` is a defect of
the user's own code (an assignor); by default it ends the run.
"""

from __future__ import annotations

from enum import StrEnum

from groupsim.protocol.messages.group import Api


class ClientFailure(Exception):
    """An exception thrown by `poll`, `commitSync` or a callback, with the error's name and the reason.

    Containers end on a `fatal` one (a fenced instance id). Each later poll throws a `lasting` one again.
    """

    def __init__(self, error: str, reason: str, *, fatal: bool = False, lasting: bool = False) -> None:
        super().__init__(f"{error}: {reason}")
        self.error = error
        self.reason = reason
        self.fatal = fatal
        self.lasting = lasting


def unanswered(api: Api, *, timed_out: bool) -> ClientFailure:
    """Return sarama's error for a broken connection, or for a request without an answer within Net.ReadTimeout."""
    return ClientFailure("i/o timeout" if timed_out else "EOF", f"no answer to {api.title}")


class PluginErrors(StrEnum):
    """Effect of a defect in a user's assignor: end the run, or go on as the Java client does."""

    STOP = "stop"
    AS_KAFKA = "as-kafka"


class PluginError(Exception):
    """A user's assignor raised, or returned an invalid result. `where` is the user's file and line, if known."""

    def __init__(self, *, assignor: str, problem: str, where: str | None, now_us: int, generation: int) -> None:
        place = f" ({where})" if where else ""
        super().__init__(f"assignor {assignor!r}{place}: {problem}")
        self.assignor = assignor
        self.problem = problem
        self.where = where
        self.now_us = now_us
        self.generation = generation
