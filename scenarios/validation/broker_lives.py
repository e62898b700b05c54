"""Steps that end a broker that is down already, or bring back one that runs: what the timeline alone makes certain.

Who coordinates a group, and how long a controlled shutdown takes, is known only while the scenario runs: a broker that
such a step may have ended is in doubt from then on, and nothing is said of it before a step makes it certain again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum

from groupsim.scenarios.language.mistakes import Wrong
from groupsim.scenarios.language.model import Scenario, Step
from groupsim.scenarios.language.plain_data import Path_
from groupsim.scenarios.language.values import show_duration
from groupsim.scenarios.steps.actions import CrashBroker, RestartBroker, StopBroker
from groupsim.scenarios.steps.broker_rollout import RollBrokers

_DEEDS = (CrashBroker, StopBroker, RestartBroker)
_Deed = CrashBroker | StopBroker | RestartBroker


class _Life(Enum):
    UP = "up"
    DOWN = "down"
    DOUBT = "in doubt"


def impossible_lives(scenario: Scenario) -> Iterator[tuple[Path_, Wrong]]:
    """Every `restart-broker` of a broker that certainly runs then, and every end of one that is certainly down."""
    lives = dict.fromkeys(scenario.cluster.brokers.ids, _Life.UP)
    restless = _restless(scenario, list(lives))
    lives.update(dict.fromkeys(restless, _Life.DOUBT))
    comes_back: dict[int, int] = {}
    for at_us, place, step in _in_order(scenario):
        for back in [other for other, back_us in comes_back.items() if back_us <= at_us]:
            lives[back] = _Life.UP if comes_back.pop(back) < at_us else _Life.DOUBT
        deed = step.deed
        if not isinstance(deed, _DEEDS):
            continue
        node = _number(deed)
        if node is None:
            lives.update(dict.fromkeys(lives, _Life.DOUBT))
            continue
        wrong = _judged(deed, node, lives, at_us)
        if wrong is not None:
            yield ("timeline", place, "broker"), wrong
        comes_back.pop(node, None)
        if isinstance(deed, CrashBroker) and deed.restart_after is not None:
            comes_back[node] = at_us + deed.restart_after
        if node not in restless:
            lives[node] = _after(deed)


def _restless(scenario: Scenario, nodes: Iterable[int]) -> set[int]:
    """Brokers that a repeated step or a rolling restart may mean: in doubt all the time."""
    found: set[int] = set()
    for step in scenario.timeline:
        if isinstance(step.deed, RollBrokers):
            found.update(nodes)
        elif step.every is not None and isinstance(step.deed, _DEEDS):
            node = _number(step.deed)
            found.update(nodes if node is None else (node,))
    return found


def _in_order(scenario: Scenario) -> list[tuple[int, int, Step]]:
    """The steps that are due, as they come: by time, then by their places in the file."""
    due = [(step.at, place, step) for place, step in enumerate(scenario.timeline) if step.at != "never"]
    return sorted(due, key=lambda one: one[:2])


def _number(deed: _Deed) -> int | None:
    return int(deed.broker) if deed.broker.isdecimal() else None


def _judged(deed: _Deed, node: int, lives: dict[int, _Life], at: int) -> Wrong | None:
    life = lives.get(node)
    if isinstance(deed, RestartBroker):
        if life is not _Life.UP:
            return None
        down = [str(other) for other, its in lives.items() if its is _Life.DOWN]
        remedy = f"those that are down then: {', '.join(down)}"
        if not down:
            remedy = "end it in an earlier step, with `crash-broker` or `stop-broker`"
        return Wrong(f"broker {node} is running at {show_duration(at)}", remedy)
    if life is _Life.DOWN:
        return Wrong(
            f"broker {node} is down already at {show_duration(at)}", "bring it back with `restart-broker` before"
        )
    return None


def _after(deed: _Deed) -> _Life:
    """How the broker is when the step has been carried out; a controlled shutdown takes its time."""
    if isinstance(deed, RestartBroker):
        return _Life.UP
    return _Life.DOWN if isinstance(deed, CrashBroker) else _Life.DOUBT
