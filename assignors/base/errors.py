"""What can go wrong with an assignor, said so that its author finds the place."""

from __future__ import annotations


class AssignorError(Exception):
    """An assignor could not be found, raised, or returned nonsense.

    `assignor` is the name as the user gave it or the assignor's own, `where` the user's file and line ("file:line")
    when it is known, `problem` what was wrong and what to do about it. A raised exception is the `__cause__`.
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
    """A built-in assignor met input on which Kafka's own class throws, or never returns.

    `java` is the exception's class name, or ENDLESS_LOOP.
    """

    def __init__(self, java: str, reason: str) -> None:
        super().__init__(f"{java}: {reason}")
        self.java = java
        self.reason = reason
