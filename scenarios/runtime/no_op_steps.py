"""Steps that hit nobody: the process they are aimed at does not run (a rollout has replaced it), or runs already.

Such a step does nothing, and the run goes on as if it stood not in the file; so it is told, in the trace and the story.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from groupsim.scenarios.language.registry import Deed
from groupsim.scenarios.runtime.process import Process
from groupsim.scenarios.steps.actions import (
    BlockHeartbeats,
    Crash,
    Pause,
    Rejoin,
    RollingRestart,
    Start,
    Stop,
)
from groupsim.scenarios.steps.describe_step import deed_words
from groupsim.scenarios.steps.stuck import StuckApplication

if TYPE_CHECKING:
    from groupsim.scenarios.runtime.stage import Stage

_OF_THE_LIVING = (Stop, Crash, Pause, BlockHeartbeats, Rejoin, StuckApplication)
_MANY = 4


def missed(deed: Deed, stage: Stage) -> str | None:
    """That a step, about to be carried out, hits nobody, and why; None when it hits somebody."""
    if isinstance(deed, RollingRestart):
        return _nobody_rolls(deed, stage)
    targets = getattr(deed, "member", None)
    if not isinstance(targets, tuple):
        return None
    found = stage.processes(targets)
    if not found:
        why = f"{_listed(targets)} is no process at this time"
    elif isinstance(deed, Start):
        why = f"{_named(found, 'runs', 'run')} already" if all(one.running for one in found) else ""
    else:
        why = "" if any(_is_hit(deed, one) for one in found) else _named(found, "does not run", "do not run")
    if not why:
        return None
    running = [actor.name for actor in stage.actors_by_name.values() if actor.running]
    who = "" if isinstance(deed, Start) else f"; running: {_listed(running) or 'no member'}"
    return f"`{deed_words(deed)}` hits nobody: {why}{who}"


def _nobody_rolls(deed: RollingRestart, stage: Stage) -> str | None:
    """A rollout replaces those that run."""
    group = stage.group_id(deed.group)
    if any(actor.running for actor in stage.of_group(group)):
        return None
    return f"`{deed_words(deed)}` hits nobody: no member of {group} runs"


def _is_hit(deed: Deed, process: Process) -> bool:
    """Whether a step does something to this process, now or when it begins."""
    if deed.FAULT:
        return process.running or not process.has_run
    return process.running or not isinstance(deed, _OF_THE_LIVING)


def _named(found: Sequence[Process], one: str, several: str) -> str:
    return f"{_listed([process.name for process in found])} {one if len(found) == 1 else several}"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MANY} more" if len(names) > _MANY else ""
    return ", ".join(names[:_MANY]) + more
