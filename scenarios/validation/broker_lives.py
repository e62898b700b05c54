"""Find steps that end a broker that is down, or restart one that runs, as far as the timeline alone proves it.

The coordinator of a group and the duration of a controlled shutdown are known only during the run: a broker that
such a step may have ended is in doubt, and has no findings until a later step makes its state certain.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum

from groupsim.eventloop.units import show_us
from groupsim.scenarios.language.mistakes import Wrong
from groupsim.scenarios.language.model import Scenario, Step
from groupsim.scenarios.language.plain_data import Path_
from groupsim.scenarios.steps.actions import CrashBroker, RestartBroker, StopBroker
from groupsim.scenarios.steps.broker_rollout import RollBrokers

_BROKER_ACTIONS = (CrashBroker, StopBroker, RestartBroker)
_BrokerAction = CrashBroker | StopBroker | RestartBroker


class _Life(Enum):
    UP = "up"
    DOWN = "down"
    DOUBT = "in doubt"


def impossible_lives(scenario: Scenario) -> Iterator[tuple[Path_, Wrong]]:
    """Yield every `restart-broker` of a broker that certainly runs, and every end of one that is certainly down."""
    lives = dict.fromkeys(scenario.cluster.brokers.ids, _Life.UP)
    unknown = _always_in_doubt(scenario, list(lives))
    lives.update(dict.fromkeys(unknown, _Life.DOUBT))
    restarts: dict[int, int] = {}
    for at_us, place, step in _in_order(scenario):
        for other in [other for other, due_us in restarts.items() if due_us <= at_us]:
            lives[other] = _Life.UP if restarts.pop(other) < at_us else _Life.DOUBT
        action = step.action
        if not isinstance(action, _BROKER_ACTIONS):
            continue
        node = _number(action)
        if node is None:
            lives.update(dict.fromkeys(lives, _Life.DOUBT))
            continue
        wrong = _mistake(action, node, lives, at_us)
        if wrong is not None:
            yield ("timeline", place, "broker"), wrong
        restarts.pop(node, None)
        if isinstance(action, CrashBroker) and action.restart_after is not None:
            restarts[node] = at_us + action.restart_after
        if node not in unknown:
            lives[node] = _after(action)


def _always_in_doubt(scenario: Scenario, nodes: Iterable[int]) -> set[int]:
    """Return the brokers that a repeated step or a rolling restart may affect."""
    found: set[int] = set()
    for step in scenario.timeline:
        if isinstance(step.action, RollBrokers):
            found.update(nodes)
        elif step.every is not None and isinstance(step.action, _BROKER_ACTIONS):
            node = _number(step.action)
            found.update(nodes if node is None else (node,))
    return found


def _in_order(scenario: Scenario) -> list[tuple[int, int, Step]]:
    """Return the scheduled steps by time, then by their order in the file."""
    due = [(step.at, place, step) for place, step in enumerate(scenario.timeline) if step.at != "never"]
    return sorted(due, key=lambda one: one[:2])


def _number(action: _BrokerAction) -> int | None:
    return int(action.broker) if action.broker.isdecimal() else None


def _mistake(action: _BrokerAction, node: int, lives: dict[int, _Life], at: int) -> Wrong | None:
    life = lives.get(node)
    if isinstance(action, RestartBroker):
        if life is not _Life.UP:
            return None
        down = [str(other) for other, its in lives.items() if its is _Life.DOWN]
        remedy = f"brokers that are down then: {', '.join(down)}"
        if not down:
            remedy = "end it before, with `crash-broker` or `stop-broker`"
        return Wrong(f"broker {node} is running at {show_us(at)}", remedy)
    if life is _Life.DOWN:
        return Wrong(f"broker {node} is down already at {show_us(at)}", "restart it before, with `restart-broker`")
    return None


def _after(action: _BrokerAction) -> _Life:
    """Return the broker's state after the step; a controlled shutdown takes an unknown time."""
    if isinstance(action, RestartBroker):
        return _Life.UP
    return _Life.DOWN if isinstance(action, CrashBroker) else _Life.DOUBT
