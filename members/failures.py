"""What can come out of a consumer's `poll`.

A `ClientFailure` is what the application sees: it may go on polling or give up (`Behaviour.on_error`). A `PluginError`
is a defect of the user's own code (an assignor), which by default ends the run.
"""

from __future__ import annotations

from enum import StrEnum

from groupsim.protocol.messages.group import Api


class ClientFailure(Exception):
    """An exception thrown by `poll`, `commitSync` or a callback: `error` names it, the text says why.

    Containers give up on `fatal` ones (a fenced instance id). A `lasting` one comes back at every later poll.
    """

    def __init__(self, error: str, reason: str, *, fatal: bool = False, lasting: bool = False) -> None:
        super().__init__(f"{error}: {reason}")
        self.error = error
        self.reason = reason
        self.fatal = fatal
        self.lasting = lasting


def unanswered(api: Api, *, timed_out: bool) -> ClientFailure:
    """Return sarama's error of a request whose connection broke, or that had no answer within Net.ReadTimeout."""
    return ClientFailure("i/o timeout" if timed_out else "EOF", f"no answer to {api.title}")


class PluginErrors(StrEnum):
    """What a defect of a user's assignor does: end the run, or go on as the Java client would."""

    STOP = "stop"
    AS_KAFKA = "as-kafka"


class PluginError(Exception):
    """A user's assignor raised or returned nonsense. `where` is the user's own file and line, when known."""

    def __init__(self, *, assignor: str, problem: str, where: str | None, now_us: int, generation: int) -> None:
        place = f" ({where})" if where else ""
        super().__init__(f"assignor {assignor!r}{place}: {problem}")
        self.assignor = assignor
        self.problem = problem
        self.where = where
        self.now_us = now_us
        self.generation = generation
