"""The errors of an assignor, with the place in its author's code."""

from __future__ import annotations


class AssignorError(Exception):
    """An assignor could not be found, raised, or returned an invalid result.

    `assignor` is the name as the user gave it or the assignor's own, `where` the user's file and line ("file:line")
    when it is known, `problem` the error with its remedy. A raised exception is the `__cause__`.
    """

    def __init__(self, assignor: str, problem: str, where: str | None = None) -> None:
        place = f" ({where})" if where else ""
        super().__init__(f"assignor {assignor!r}{place}: {problem}")
        self.assignor = assignor
        self.problem = problem
        self.where = where


#: The `java` of a JavaFailure where Kafka's class does not throw but never returns.
ENDLESS_LOOP = "endless loop"


class JavaFailure(Exception):
    """A built-in assignor got input for which Kafka's own class throws, or never returns.

    `java` is the exception's class name, or ENDLESS_LOOP.
    """

    def __init__(self, java: str, reason: str) -> None:
        super().__init__(f"{java}: {reason}")
        self.java = java
        self.reason = reason
