"""The step that restarts all brokers one after the other; `runtime/broker_rollout.py` carries it out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from attrs import frozen

from groupsim.eventloop.distributions import Distribution
from groupsim.scenarios.language.keys import key
from groupsim.scenarios.language.registry import Deed, action
from groupsim.scenarios.language.values import Duration, Version

if TYPE_CHECKING:
    from groupsim.scenarios.runtime.stage import Stage


@action("roll-brokers")
@frozen(kw_only=True)
class RollBrokers(Deed):
    """Restart all brokers one after the other, in the order of their ids; the controller stays."""

    how: Literal["stop", "crash"] = key("`stop` is a controlled shutdown, `crash` kills.", "stop")
    downtime: Distribution | None = key("From the end of a broker to its next start; without it, at once.", None)
    wait: Literal["in-sync", "started"] = key(
        "The next one goes when all replicas are in sync again, or as soon as this one has started.", "in-sync"
    )
    pause: Duration = key("Time between that and the end of the next one.", 0)
    version: Version | None = key("Kafka version they come back with, as in a rolling upgrade.", None)

    def perform(self, stage: Stage) -> None:
        """Begin; it goes on by itself."""
        stage.roll_brokers(self)
