"""A file of which a part cannot be read: what is wrong with the rest, so that one report shows every mistake.

What cannot be read is cut out, key by key, until the rest has the shape of a scenario; a whole step or expectation
leaves an empty one in its place, so that the others keep their numbers. The rest is judged as any scenario is, except
for names that the missing part may define: nothing is said of those.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from attrs import define, field

from groupsim.scenarios.language.document import Document
from groupsim.scenarios.language.keys import fields_of
from groupsim.scenarios.language.mistakes import paths_of, problems_of
from groupsim.scenarios.language.model import Scenario
from groupsim.scenarios.language.plain_data import Path_
from groupsim.scenarios.language.problems import Place, Problem, ScenarioError
from groupsim.scenarios.language.synonyms import suggest_word
from groupsim.scenarios.language.values import read_duration, show_duration
from groupsim.scenarios.loading.converters import NOTHING, structure_scenario
from groupsim.scenarios.validation.semantics import judge

_ROUNDS = 8  # a key that is cut may leave a mapping without what it needs, which is cut next
_LISTS = ("timeline", "expect")
_MINUTE_US = 60_000_000


def structured(document: Document) -> Scenario:
    """The scenario a document has the shape of. Raises ScenarioError with every mistake, those of sense included."""
    if not isinstance(document.data, dict):
        remedy = "write `key: value` lines; see docs/writing-a-scenario.md"
        raise ScenarioError([Problem(document.at_value(()), "a scenario is a mapping, this is not one", remedy)])
    if document.data and not any(name in fields_of(Scenario) for name in document.data):
        message = f"no key of a scenario is here: `{next(iter(document.data))}` is none"
        needed = "a scenario needs `topics`, `groups` and `run-for`"
        remedy = f"{needed}; settings of a client are for `groupsim lint`, manifests for `groupsim init`"
        raise ScenarioError([Problem(document.at_value(()), message, remedy)])
    try:
        return structure_scenario(document.data)
    except ValueError as error:
        problems = [p for p in problems_of(error, document) if "`run-for` is missing" not in p.message]
        raise ScenarioError([*problems, *_endless(document), *_besides(document, error)]) from None


def _endless(document: Document) -> list[Problem]:
    """Consumers poll for ever: without `run-for` a run has no end. Whoever misspelt it is told so at its place."""
    keys = fields_of(Scenario)
    strange = [str(name) for name in document.data if name not in keys]
    if "run-for" in document.data or any("`run-for`" in suggest_word(name, keys) for name in strange):
        return []
    proposal = show_duration(_long_enough(document.data)).removesuffix(".000 s") + "s"
    message = "nothing ends this scenario: consumers poll for ever, and the key `run-for` is missing"
    return [Problem(Place(document.file, 1, 1), message, f"add `run-for: {proposal}`")]


def _long_enough(data: dict[str, Any]) -> int:
    """A minute after the last step, in microseconds."""
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
    """What is left of a file's data, and what was cut out of it."""

    data: dict[str, Any]
    cuts: list[Path_] = field(factory=list)
    steps: list[Any] = field(factory=list)

    def cut(self, path: Path_) -> None:
        """Take out what stands at `path`, or the nearest thing around it that can be taken out."""
        if not path or path[0] == "run-for":
            self.data["run-for"] = f"{_long_enough(self.data)}us"
            self.cuts.append(("run-for",))
        elif path[0] in _LISTS and len(path) > 1 and isinstance(self.data.get(path[0]), list):
            self._cut_of_list(path)
        else:
            self._remove(path)

    def _cut_of_list(self, path: Path_) -> None:
        """A key of a step; a whole step, or what says which one it is, leaves an empty one."""
        items, index, below = self.data[str(path[0])], int(path[1]), path[2:]
        if path[0] == "timeline" and below and below[0] != "do" and isinstance(items[index], dict):
            self._remove(path)
        elif items[index] is not NOTHING:
            self.steps.append(items[index])
            items[index] = NOTHING
            self.cuts.append(path[:2])

    def _remove(self, path: Path_) -> None:
        """The last key on the path that there is; of a list in a mapping, the whole list."""
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
        """What may be defined in the part that was cut out: members, topics, brokers; or made by a step (`made`)."""
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
                yield from ("members", "topics", "brokers")  # perhaps a section, misspelt
        if any(not isinstance(step, dict) or "topic" in step for step in self.steps):
            yield "topics"


def _besides(document: Document, error: ValueError) -> list[Problem]:
    """What is wrong with the part of a file that can be read."""
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
