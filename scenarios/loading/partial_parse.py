"""Check the readable part of a file that has mistakes, so that one report shows all of them.

Unreadable values are removed, key by key, until the rest has the structure of a scenario. A whole step or expectation
leaves an empty one in its place, so that the others keep their indices. The rest is checked like any scenario, except
for names that the removed part may define.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from attrs import field

from groupsim.eventloop.units import show_us
from groupsim.protocol.values import define
from groupsim.scenarios.language.document import Document
from groupsim.scenarios.language.keys import fields_of
from groupsim.scenarios.language.mistakes import paths_of, problems_of
from groupsim.scenarios.language.model import Scenario
from groupsim.scenarios.language.plain_data import Path_
from groupsim.scenarios.language.problems import Place, Problem, ScenarioError
from groupsim.scenarios.language.synonyms import suggest_word
from groupsim.scenarios.language.values import read_duration
from groupsim.scenarios.loading.converters import NOTHING, structure_scenario
from groupsim.scenarios.validation.semantics import judge

_ROUNDS = 8  # a removed key may leave a mapping without a required key; the next round removes the mapping
_LISTS = ("timeline", "expect")
_MINUTE_US = 60_000_000


def structured(document: Document) -> Scenario:
    """Structure a document as a scenario. Raises ScenarioError with every mistake, those of validation included."""
    if not isinstance(document.data, dict):
        remedy = "write `key: value` lines; see docs/writing-a-scenario.md"
        raise ScenarioError([Problem(document.at_value(()), "a scenario must be a mapping", remedy)])
    if document.data and not any(name in fields_of(Scenario) for name in document.data):
        message = f"not a scenario: it has no key `{next(iter(document.data))}`"
        needed = "write `topics`, `groups` and `run-for`"
        remedy = f"{needed}; `groupsim lint` checks settings of a client, `groupsim init` reads manifests"
        raise ScenarioError([Problem(document.at_value(()), message, remedy)])
    try:
        return structure_scenario(document.data)
    except ValueError as error:
        problems = [p for p in problems_of(error, document) if "`run-for` is missing" not in p.message]
        raise ScenarioError([*problems, *_missing_run_for(document), *_others(document, error)]) from None


def _missing_run_for(document: Document) -> list[Problem]:
    """Report a missing `run-for`, without which the run never ends, unless a misspelt key stands for it."""
    keys = fields_of(Scenario)
    strange = [str(name) for name in document.data if name not in keys]
    if "run-for" in document.data or any("`run-for`" in suggest_word(name, keys) for name in strange):
        return []
    proposal = show_us(_proposed_run_for(document.data)).removesuffix(".000 s") + "s"
    message = "the key `run-for` is missing: consumers poll for ever"
    return [Problem(Place(document.file, 1, 1), message, f"add `run-for: {proposal}`")]


def _proposed_run_for(data: dict[str, Any]) -> int:
    """Return the time one minute after the last step, in µs."""
    steps = data.get("timeline")
    moments = [_moment(step) for step in steps if isinstance(step, dict)] if isinstance(steps, list) else []
    return max(moments, default=0) + _MINUTE_US


def _moment(step: dict[str, Any]) -> int:
    try:
        return read_duration(step.get("at"))
    except ValueError:
        return 0


# --- the rest of the file --------------------------------------------------------------------------------------------


@define
class _Rest:
    """The rest of a file's data, and the paths removed from it."""

    data: dict[str, Any]
    cuts: list[Path_] = field(factory=list)
    steps: list[Any] = field(factory=list)

    def cut(self, path: Path_) -> None:
        """Remove the value at `path`, or the nearest one around it that can be removed."""
        if not path or path[0] == "run-for":
            self.data["run-for"] = f"{_proposed_run_for(self.data)}us"
            self.cuts.append(("run-for",))
        elif path[0] in _LISTS and len(path) > 1 and isinstance(self.data.get(path[0]), list):
            self._cut_of_list(path)
        else:
            self._remove(path)

    def _cut_of_list(self, path: Path_) -> None:
        """Remove a key of a step; without `do`, or for an expectation, leave an empty item."""
        items, index, below = self.data[str(path[0])], int(path[1]), path[2:]
        if path[0] == "timeline" and below and below[0] != "do" and isinstance(items[index], dict):
            self._remove(path)
        elif items[index] is not NOTHING:
            self.steps.append(items[index])
            items[index] = NOTHING
            self.cuts.append(path[:2])

    def _remove(self, path: Path_) -> None:
        """Remove the last key of the path that exists; for a list in a mapping, the whole list."""
        here: Any = self.data
        found: tuple[dict[Any, Any], Any, int] | None = None
        for depth, part in enumerate(path):
            if isinstance(here, dict) and part in here:
                found = here, part, depth
            elif not (path[0] in _LISTS and depth == 1):
                break
            here = here[part]
        if found is not None:
            holder, key, depth = found
            del holder[key]
            self.cuts.append(path[: depth + 1])

    @property
    def doubtful(self) -> frozenset[str]:
        """Return which names the removed part may define: members, topics, brokers, or those of steps (`made`)."""
        return frozenset(self._doubts())

    def _doubts(self) -> Iterator[str]:
        for path in self.cuts:
            if path[0] in ("groups", "producers") and (len(path) < 3 or ("members" in path and path[-1] != "start")):
                yield "members"
            elif path[0] in ("topics", "cluster"):
                yield "topics" if path[0] == "topics" else "brokers"
            elif path[0] == "timeline":
                yield "made"
            elif path[0] not in fields_of(Scenario):
                yield from ("members", "topics", "brokers")  # perhaps a misspelt section
        if any(not isinstance(step, dict) or "topic" in step for step in self.steps):
            yield "topics"


def _others(document: Document, error: ValueError) -> list[Problem]:
    """Return the problems of the part of a file that can be read."""
    rest = _Rest(copy.deepcopy(document.data))
    wrong: ValueError | None = error
    for _ in range(_ROUNDS):
        if wrong is None:
            break
        for path in sorted(dict.fromkeys(paths_of(wrong)), key=len, reverse=True):
            rest.cut(path)
        wrong = _mistakes(rest.data)
    if wrong is not None:
        return []
    return judge(structure_scenario(rest.data), document, rest.cuts, rest.doubtful)


def _mistakes(data: dict[str, Any]) -> ValueError | None:
    try:
        structure_scenario(data)
    except ValueError as error:
        return error
    return None
