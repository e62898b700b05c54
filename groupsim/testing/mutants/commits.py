"""Historical bugs of consumers' commits and positions, each as the smallest change that restores it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from groupsim.members.classic.ownership import Ownership
from groupsim.members.commit.attempt import Attempt
from groupsim.members.commit.committer import Committer
from groupsim.members.fetch import positions
from groupsim.members.fetch.fetcher import PullFetcher
from groupsim.members.fetch.positions import Fetcher
from groupsim.members.generation import ClientState
from groupsim.members.member import Member
from groupsim.protocol.messages.group import FetchedOffset, TopicPartition
from groupsim.testing.mutants.profiles import release_defect
from groupsim.testing.patcher import Patcher

# --- which offsets, and in which order ---------------------------------------------------------------------------


def commits_reordered(patch: Patcher) -> None:
    """sarama 2940: an asynchronous commit takes its offsets before its turn; every other one goes out late."""
    go = Attempt.go
    late: list[bool] = [False]

    def mutant(self: Attempt, _: Any = None) -> None:
        if self._auto or not self._offsets:
            go(self)
            return
        late[0] = not late[0]
        wait_us = 300_000 if late[0] else 0
        self._member.host.call_at(self._member.now_us + wait_us, lambda _: go(self))

    patch.setattr(Attempt, "go", mutant)


def commit_undelivered_position(patch: Patcher) -> None:
    """KAFKA-18641: auto-commit takes the fetch position, not the position of the records that poll returned."""
    positions = Committer.positions

    def mutant(self: Committer) -> Mapping[TopicPartition, int]:
        found = dict(positions(self))
        for piece in self._member.fetcher._buffer:
            found[piece.state.partition] = max(batch.next_offset for batch in piece.data.batches)
        return found

    patch.setattr(Committer, "positions", mutant)


def autocommit_inflight_flag(patch: Patcher) -> None:
    """KAFKA-16203: an auto-commit without offsets counts as in flight, and the next one waits for it."""
    auto_commit = Committer._auto_commit
    stuck: dict[int, None] = {}

    def mutant(self: Committer) -> None:
        if not self.positions():
            stuck[id(self)] = None
        if id(self) in stuck:
            self._arm(self._interval_us)
        else:
            auto_commit(self)

    patch.setattr(Committer, "_auto_commit", mutant)


# --- around a rebalance ------------------------------------------------------------------------------------------


def fetch_during_revoke_commit(patch: Patcher) -> None:
    """KAFKA-14196: polls deliver records while the commit before a rebalance is in flight."""
    release_defect(patch, "KAFKA-14196")


def commit_retry_after_revoke(patch: Patcher) -> None:
    """KAFKA-14024: every poll restarts the commit before the rebalance, and waits for the newest one."""
    release_defect(patch, "KAFKA-14024")


def commit_crosses_join(patch: Patcher) -> None:
    """librdkafka 1.7.0, franz-go 409: auto-commits go out between JoinGroup and SyncGroup as at any other time."""
    go = Attempt.go

    def mutant(self: Attempt, _: Any = None) -> None:
        member = self._member
        before, member.state = member.state, ClientState.STABLE
        go(self)
        member.state = before

    patch.setattr(Attempt, "go", mutant)
    patch.setattr(Member, "group_comes_first", False)


def callback_blocks_commits(patch: Patcher) -> None:
    """brod 538: the process that runs the callback also answers commits: a commit in the callback times out."""

    async def mutant(self: Committer) -> None:
        await self._member.host.sleep(5_000_000)

    patch.setattr(Committer, "on_revoke", mutant)


def commit_failure_blocks_assign(patch: Patcher) -> None:
    """librdkafka 2933: new partitions are not fetched until the commits in flight have succeeded."""
    failed, look_up = Attempt._failed, Fetcher.look_up
    unfinished: dict[int, None] = {}

    def failing(self: Attempt, *args: Any) -> None:
        unfinished[id(self._member)] = None
        failed(self, *args)

    def looking(self: Fetcher) -> None:
        if id(self._member) not in unfinished:
            look_up(self)

    patch.setattr(Attempt, "_failed", failing)
    patch.setattr(Fetcher, "look_up", looking)


def batch_straddles_rebalance(patch: Patcher) -> None:
    """librdkafka 3340: records fetched before a rebalance are delivered after it, even of revoked partitions."""
    drop = PullFetcher._drop_unwanted

    def mutant(self: PullFetcher) -> None:
        kept = list(self._buffer)
        drop(self)
        self._buffer.extend(piece for piece in kept if piece not in self._buffer)

    patch.setattr(PullFetcher, "_drop_unwanted", mutant)


def pending_revocation_sticks(patch: Patcher) -> None:
    """kafka-python 3132: all partitions are marked for revocation, and those that stay keep the mark."""
    give_up, changed = Ownership._give_up, Fetcher.ownership_changed

    async def giving_up(self: Ownership, kind: str, partitions: list[TopicPartition]) -> None:
        self._member.fetcher.stop_delivering(list(self.owned))
        await give_up(self, kind, partitions)

    def mutant(self: Fetcher) -> None:
        held = set(self._held)
        changed(self)
        self._held.update(partition for partition in self._member.ownership.owned if partition in held)

    patch.setattr(Ownership, "_give_up", giving_up)
    patch.setattr(Fetcher, "ownership_changed", mutant)


# --- where to begin ----------------------------------------------------------------------------------------------


def reset_before_committed(patch: Patcher) -> None:
    """KAFKA-17674: the answer to a look-up of offsets resets every partition without a position, requested or not."""
    start = PullFetcher._start

    def mutant(self: PullFetcher, committed: tuple[FetchedOffset, ...]) -> None:
        asked = {entry.partition for entry in committed}
        others = [FetchedOffset(partition) for partition in self._without_position() if partition not in asked]
        start(self, (*committed, *others))

    look_up = Fetcher.look_up

    def looking(self: Fetcher) -> None:
        if not self._looking_up:  # one look-up at a time
            look_up(self)

    patch.setattr(PullFetcher, "_start", mutant)
    patch.setattr(Fetcher, "look_up", looking)


def unstable_fetch(patch: Patcher) -> None:
    """franz-go 9dde6ad8: OffsetFetch does not wait for open transactions."""
    patch.setattr(positions, "_STABLE_SINCE", 1_000)
