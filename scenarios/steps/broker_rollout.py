"""The step that restarts all brokers one after the other; `runtime/broker_rollout.py` performs it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from groupsim.eventloop.distributions import Distribution
from groupsim.protocol.values import frozen
from groupsim.scenarios.language.keys import key
from groupsim.scenarios.language.registry import StepAction, action
from groupsim.scenarios.language.values import Duration, Version

if TYPE_CHECKING:
    from groupsim.scenarios.runtime.stage import Stage


@action("roll-brokers")
@frozen(kw_only=True)
class RollBrokers(StepAction):
    """Restart all brokers one after the other, in the order of their ids, but not the controller."""

    how: Literal["stop", "crash"] = key("`stop` is a controlled shutdown, `crash` kills.", "stop")
    downtime: Distribution | None = key("From the end of a broker to its next start; by default none.", None)
    wait: Literal["in-sync", "started"] = key(
        "The next broker follows when all replicas are in sync again, or as soon as this one has started.", "in-sync"
    )
    pause: Duration = key("Further time before the next broker ends.", 0)
    version: Version | None = key("Kafka version after the restart, as in a rolling upgrade.", None)

    def perform(self, stage: Stage) -> None:
        """Begin the rolling restart, which continues in the background."""
        stage.roll_brokers(self)
