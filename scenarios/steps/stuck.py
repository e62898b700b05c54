"""The step `stuck`: an application that waits for something that does not come, while its member stays in the group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from attrs import frozen

from groupsim.scenarios.language.keys import key
from groupsim.scenarios.language.registry import Deed, action
from groupsim.scenarios.language.targets import Members, PartitionName
from groupsim.scenarios.language.values import Duration

if TYPE_CHECKING:
    from groupsim.scenarios.runtime.stage import Stage


@action("stuck")
@frozen(kw_only=True)
class StuckApplication(Deed):
    """Let the application of consumers wait for something that does not come: a lock, a call without a timeout.

    `worker`: it hands records to worker threads, which do not come back; poll goes on, and their partitions are paused.
    `callback`: the next revoked callback does not return, and with it the poll thread: past max.poll.interval.ms a
    client with a heartbeat thread leaves. `block-poll` keeps the poll thread outside of callbacks.
    """

    member: Members = key("Whom: names, patterns, `leader`, `member 2`, or `all`.")
    for_: Duration = key("How long.")
    where: Literal["worker", "callback"] = key("What waits.", "worker")
    partitions: tuple[PartitionName, ...] | None = key("Whose worker it is; without it, one worker has them all.", None)

    def __attrs_post_init__(self) -> None:
        """Raises ValueError for partitions of a callback, which is about all that are revoked."""
        if self.partitions is not None and self.where != "worker":
            raise ValueError("`partitions` says whose worker is stuck; leave it out with `where: callback`")

    def perform(self, stage: Stage) -> None:
        """Let each wait."""
        for actor in stage.actors(self.member):
            if self.where == "worker":
                actor.stick_workers(self.for_, self.partitions)
            else:
                actor.block_callback("revoked", self.for_, 1)
