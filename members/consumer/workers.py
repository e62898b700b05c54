"""Stuck worker threads of an application whose poll thread continues.

An application with workers keeps polling: it pauses the partitions whose records a worker holds, and resumes them when
the worker is done. A worker that waits without end (a lock, a socket without a timeout) then stops only its partitions:
heartbeats flow, the poll limit is kept, and no rebalance follows (`KafkaConsumer`, "Detecting Consumer Failures").

Commits of processed records leave the offsets of such a partition unchanged. With enable.auto.commit the library
commits the position of `poll`, so records that the worker holds are committed before they are processed.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from groupsim.members.interfaces import Fetched
from groupsim.members.member import Member
from groupsim.protocol.messages.group import TopicPartition

if TYPE_CHECKING:
    from groupsim.members.parts import Application


class StuckWorkers:
    """The stuck workers of one member, and the records they hold."""

    __slots__ = ("_held", "_member", "_over", "_partitions", "_rounds")

    def __init__(self, member: Member, rounds: Application, partitions: Collection[TopicPartition] | None) -> None:
        self._member = member
        self._rounds = rounds
        self._partitions = None if partitions is None else frozenset(partitions)  # None: one worker for all of them
        self._over = False
        self._held: list[tuple[Fetched, int]] = []

    def take(self, found: Fetched) -> bool:
        """Hand records to a stuck worker and pause their partition; False if the partition's worker is not stuck."""
        member, partition = self._member, found.partition
        if not self.are_for(partition):
            return False
        generation = member.ownership.owned.get(partition)
        if generation is not None:
            self._held.append((found, generation))
            member.fetcher.pause(partition)
        return True

    def are_for(self, partition: TopicPartition) -> bool:
        """Whether the worker of this partition is stuck."""
        return not self._over and (self._partitions is None or partition in self._partitions)

    def end(self) -> None:
        """Finish the held records of partitions that were owned throughout, and resume the partitions."""
        member, held = self._member, self._held
        self._over = True
        for found, generation in held:
            if member.ownership.owned.get(found.partition) == generation:
                self._rounds.finish(found)
        member.fetcher.resume(dict.fromkeys(found.partition for found, _ in held))
        member.wake.set()
