"""The actions and faults of a live cluster besides those of scenario files.

Classes like those of `scenarios.steps.actions` and `scenarios.steps.faults`, under names of their own: they need a
client that ends them, or have no counterpart in Kafka's protocol.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from groupsim.cluster.network import faults as net
from groupsim.protocol.values import frozen
from groupsim.scenarios.language.keys import key
from groupsim.scenarios.language.registry import StepAction, step_actions
from groupsim.scenarios.language.targets import Broker, TheGroup
from groupsim.scenarios.steps.faults import OnMessages

if TYPE_CHECKING:
    from groupsim.scenarios.runtime.stage import Stage
    from groupsim.serving.stage import LiveStage

_GROUP = "The group; optional when there is only one."
_BROKER = "The broker: a number, or `coordinator of g`."


@frozen(kw_only=True)
class HoldResponse(OnMessages):
    """Hold the response to a request, and all later ones to that client, until the fault ends (or `for` is over).

    The broker has executed the request; the client waits.
    """

    NAME, FAULT = "hold-response", True

    def of(self, match: net.Match) -> net.Fault:
        """Return the fault of a delayed answer."""
        return net.HoldResponse(match, self.for_)


@frozen(kw_only=True)
class FreezeBroker(StepAction):
    """Stop a whole broker, as SIGSTOP does, until `thaw-broker`. The fault of this name does it for a duration."""

    NAME = "freeze-broker"
    broker: Broker = key(_BROKER)

    def perform(self, stage: Stage) -> None:
        """Stop it."""
        node, cluster = stage.broker_node(self.broker), _live(stage).replicated
        host = cluster.brokers[node].host
        if not host.alive or host.paused:
            raise ValueError(f"broker {node} is {'frozen already' if host.alive else 'down'}")
        cluster.pause_broker(node)


@frozen(kw_only=True)
class ThawBroker(StepAction):
    """Let a frozen broker continue."""

    NAME = "thaw-broker"
    broker: Broker = key(_BROKER)

    def perform(self, stage: Stage) -> None:
        """Continue."""
        node, cluster = stage.broker_node(self.broker), _live(stage).replicated
        if not cluster.brokers[node].host.paused:
            raise ValueError(f"broker {node} is not frozen")
        cluster.resume_broker(node)


@frozen(kw_only=True)
class ForceRebalance(StepAction):
    """Open a rebalance in the coordinator, like a JoinGroup with changed metadata; heartbeats are answered with it.

    Kafka has no such request; an operator gets the effect by `enforceRebalance()` in one of the applications.
    """

    NAME = "force-rebalance"
    group: TheGroup | None = key(_GROUP, None)
    reason: str = key("The reason in the trace.", "a rebalance was asked for on the control port")

    def perform(self, stage: Stage) -> None:
        """Open it. Raises ValueError when the group is empty, or in a rebalance already."""
        group = stage.group_id(self.group)
        _, coordinator = _live(stage).replicated.coordinator_of(group)
        if not coordinator.force_rebalance(group, self.reason):
            seen = coordinator.snapshot(group)
            state = seen.state if seen is not None else "unknown to its coordinator"
            raise ValueError(f"group {group!r} is {state}: a rebalance can be forced in a Stable group only")


@frozen(kw_only=True)
class ForgetGroup(StepAction):
    """Let the coordinator lose a group: members, generation and committed offsets, as if its records had been lost.

    Tombstones are written to `__consumer_offsets`. Parked requests are answered NOT_COORDINATOR, old member ids
    UNKNOWN_MEMBER_ID, the next generation is 1, and consumers begin at the position of `auto.offset.reset`.
    """

    NAME = "forget-group"
    group: TheGroup | None = key(_GROUP, None)

    def perform(self, stage: Stage) -> None:
        """Delete it. Raises ValueError when there is no such group."""
        group = stage.group_id(self.group)
        _, coordinator = _live(stage).replicated.coordinator_of(group)
        if not coordinator.forget(group, "lost by a step on the control port"):
            raise ValueError(f"the coordinator has no group {group!r}")


def _live(stage: Stage) -> LiveStage:
    from groupsim.serving.stage import LiveStage

    assert isinstance(stage, LiveStage)
    return stage


def live_actions() -> dict[str, type[StepAction]]:
    """Return every available action: those of scenario files, and the live ones."""
    own: tuple[type[StepAction], ...] = (FreezeBroker, ThawBroker, ForceRebalance, ForgetGroup)
    theirs = {name: cls for name, cls in step_actions().items() if not cls.FAULT}
    return {**theirs, **{cls.NAME: cls for cls in own}}


def live_faults() -> dict[str, type[StepAction]]:
    """Return every available fault: those of scenario files, and the live ones."""
    theirs = {name: cls for name, cls in step_actions().items() if cls.FAULT}
    return {**theirs, HoldResponse.NAME: HoldResponse}
