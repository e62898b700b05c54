"""The steps of an assignment, as the algorithm itself reports them while it computes.

An assignor calls the methods of a `Steps` at the places where it decides. `NO_STEPS` stores nothing and is
false: `assign` computes with it, and a report that costs something stands behind `if steps:`. So the explanation comes
from the code that computes the assignment, and `replayed` gives that assignment back from the steps alone.

Names of stages are those of Kafka's classes and methods.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, TypeAlias

from groupsim.protocol.messages.group import TopicPartition
from groupsim.protocol.values import frozen

Does: TypeAlias = Literal["note", "keep", "give", "move", "set aside", "withhold", "undo", "stop"]


@frozen
class Step:
    """One decision.

    `member` owns the `partitions` from now on (keep, give, move) or does not get them in this round (withhold); `giver`
    owned them until now, and `counts` are the numbers of partitions of both before (move). `undo` takes back all moves.
    The others change nothing. `reason` is a sentence for a reader, for `note` and `stop` the whole step.
    """

    stage: str
    does: Does
    reason: str
    partitions: tuple[TopicPartition, ...] = ()
    member: str | None = None
    giver: str | None = None
    counts: tuple[int, int] | None = None


class Steps:
    """Collects the steps of one assignment, each with its stage."""

    def __init__(self) -> None:
        self._steps: list[Step] = []
        self._stage = ""

    def __bool__(self) -> bool:
        """Whether steps are stored."""
        return True

    def __iter__(self) -> Iterator[Step]:
        """All steps in order."""
        return iter(self._steps)

    def stage(self, name: str) -> None:
        """Set the stage of the following steps: the class or method that decides."""
        self._stage = name

    def note(self, text: str, partitions: Iterable[TopicPartition] = ()) -> None:
        """Report a fact that changes nothing. Partitions are listed after the text."""
        self._add("note", text, partitions)

    def keep(self, partitions: Sequence[TopicPartition], member: str, reason: str) -> None:
        """Report that a member keeps partitions; without partitions there is no step."""
        if partitions:
            self._add("keep", reason, partitions, member)

    def give(self, partitions: Sequence[TopicPartition], member: str, reason: str) -> None:
        """Report that a member gets partitions; without partitions there is no step."""
        if partitions:
            self._add("give", reason, partitions, member)

    def set_aside(self, partitions: Sequence[TopicPartition], reason: str) -> None:
        """Report partitions without an owner for now, or outside the following steps; without partitions no step."""
        if partitions:
            self._add("set aside", reason, partitions)

    def move(
        self, partition: TopicPartition, giver: str, member: str, reason: str, counts: tuple[int, int] | None = None
    ) -> None:
        """Report the move of a partition between members; `counts` are the numbers of partitions of both before."""
        self._add("move", reason, (partition,), member, giver, counts)

    def withhold(self, partition: TopicPartition, member: str, reason: str) -> None:
        """Report that a member does not get its partition in this round."""
        self._add("withhold", reason, (partition,), member)

    def undo(self, reason: str) -> None:
        """Report that all moves so far are undone."""
        self._add("undo", reason)

    def stop(self, reason: str) -> None:
        """Report the end of a stage, or of the whole assignment, with the reason."""
        self._add("stop", reason)

    def _add(
        self,
        does: Does,
        reason: str,
        partitions: Iterable[TopicPartition] = (),
        member: str | None = None,
        giver: str | None = None,
        counts: tuple[int, int] | None = None,
    ) -> None:
        self._steps.append(Step(self._stage, does, reason, tuple(partitions), member, giver, counts))


class _NoSteps(Steps):
    """Stores nothing."""

    def __bool__(self) -> bool:
        return False

    def stage(self, name: str) -> None:
        """Store nothing."""

    def _add(self, *_: object) -> None:
        """Store nothing."""


#: For an assignment without an explanation.
NO_STEPS: Steps = _NoSteps()


def replayed(steps: Iterable[Step]) -> dict[str, list[TopicPartition]]:
    """Return the partitions of each member after these steps. Raises ValueError for a contradiction."""
    held: dict[str, list[TopicPartition]] = {}
    before_moves: dict[str, list[TopicPartition]] | None = None
    for step in steps:
        if step.does == "move" and before_moves is None:
            before_moves = {member: list(partitions) for member, partitions in held.items()}
        if step.does == "undo" and before_moves is not None:
            held, before_moves = before_moves, None
        loser = {"move": step.giver, "withhold": step.member}.get(step.does)
        if loser is not None:
            for partition in step.partitions:
                held.setdefault(loser, []).remove(partition)
        if step.member is not None and step.does in ("keep", "give", "move"):
            held.setdefault(step.member, []).extend(step.partitions)
    return held
