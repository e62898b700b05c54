"""`groupsim diff`: two scenarios, two traces, or one scenario with a setting changed."""

from __future__ import annotations

import sys
from typing import Any

from groupsim.cli import as_json
from groupsim.cli.exits import SUCCESS, Trouble
from groupsim.cli.render import run_diff as comparing
from groupsim.cli.render.diff_sentence import how_sure
from groupsim.cli.running import perform
from groupsim.cli.scenario_diff import differences
from groupsim.cli.scenario_source import load
from groupsim.cli.sources import is_trace, trace
from groupsim.cli.terminal import Terminal
from groupsim.eventloop.trace.events import TraceEvent


def pair(sources: list[str]) -> tuple[str, str | None]:
    """Return the two sources to compare; the second is None for a comparison by `--set`. Raises Trouble for three."""
    if len(sources) > 2:
        raise Trouble(f"{len(sources)} scenarios to compare", "name two; files of a deployment go with --git REV")
    return sources[0], sources[1] if len(sources) > 1 else None


def diff(
    left: str, right: str | None, seed: int, settings: list[str], wants_json: bool, group: str | None = None
) -> int:
    """Compare and print, with `group` that group only; return the exit code (0: a difference is not a failure)."""
    if right is None and not settings:
        raise Trouble("nothing to compare with", "name a second scenario or trace, or change A with --set PATH=VALUE")
    other = left if right is None else right
    if settings and is_trace(other):
        raise Trouble(f"{other} is a trace: --set changes scenarios", "name the scenario of the trace")
    differing = () if right is None or is_trace(left) or is_trace(right) else differences(left, right, settings)
    names = (left, _name(other, settings))
    # One source: the texts of --set. Two files: the paths in which they differ, --set included.
    changed = settings if right is None else ()
    found = comparing.compare(_events(left, seed, []), _events(other, seed, settings), names, changed, differing, group)
    if wants_json:
        print(as_json.text(document(found)))
    else:
        comparing.show(found, Terminal())
        if changed and left != "-":  # standard input cannot be read a second time
            print(how_sure(left, changed), file=sys.stderr)
    return SUCCESS


def _name(source: str, settings: list[str]) -> str:
    return " ".join([source, *(f"--set {setting}" for setting in settings)])


def _events(source: str, seed: int, settings: list[str]) -> list[TraceEvent]:
    if is_trace(source):
        return trace(source)
    return perform(load(source, settings), seed, source, settings=settings).events


def document(found: comparing.Comparison) -> dict[str, Any]:
    """Build the JSON document of a comparison, with the figures of a fleet and of each of its groups."""
    plain: dict[str, Any] = as_json.plain(found)
    del plain["shown"]
    plain["rows"] += plain.pop("of_groups")
    for row, source in zip(plain["rows"], (*found.rows, *found.of_groups), strict=True):
        row["change"] = source.change
    return {"schema": as_json.SINCE_UNSERVED, **plain}
