"""The step `stuck`: an application that waits for ever, while its member stays in the group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from groupsim.protocol.values import frozen
from groupsim.scenarios.language.keys import key
from groupsim.scenarios.language.registry import StepAction, action
from groupsim.scenarios.language.targets import Members, PartitionName
from groupsim.scenarios.language.values import Duration

if TYPE_CHECKING:
    from groupsim.scenarios.runtime.stage import Stage


@action("stuck")
@frozen(kw_only=True)
class StuckApplication(StepAction):
    """Let the application of consumers wait for an event that does not come: a lock, a call without a timeout.

    `worker`: worker threads do not finish their records; the application still polls, and pauses their partitions.
    `callback`: the next revoked callback does not return and blocks the poll thread: past max.poll.interval.ms, a
    client with a heartbeat thread leaves. `block-poll` keeps the poll thread outside of callbacks.
    """

    member: Members = key("Members: names, patterns, `leader`, `member 2`, or `all`.")
    for_: Duration = key("How long.")
    where: Literal["worker", "callback"] = key("The part that waits.", "worker")
    partitions: tuple[PartitionName, ...] | None = key("Partitions of the stuck worker; by default all.", None)

    def __attrs_post_init__(self) -> None:
        """Raise ValueError for `partitions` with a callback, which has all revoked partitions."""
        if self.partitions is not None and self.where != "worker":
            raise ValueError("`partitions` needs `where: worker`; remove one of the two")

    def perform(self, stage: Stage) -> None:
        """Block each member."""
        for actor in stage.actors(self.member):
            if self.where == "worker":
                actor.stick_workers(self.for_, self.partitions)
            else:
                actor.block_callback("revoked", self.for_, 1)
