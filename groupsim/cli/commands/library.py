"""`groupsim list`: the scenarios of the library, or its experiments."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import attrs
from rich.padding import Padding
from rich.text import Text

from groupsim.cli.exits import SUCCESS, Trouble
from groupsim.cli.terminal import Terminal
from groupsim.logs.finding import scenes_that_log
from groupsim.scenarios.loading import catalogue

E = TypeVar("E")
_LINES = 2
"""Maximal number of matching log lines printed with a scenario."""


def list_scenarios(words: list[str], wants_json: bool) -> int:
    """Print the scenarios whose files contain all words, or that log such a line; return the exit code.

    Log lines are searched for a phrase (several words as one argument), and if no file contains the words.
    """
    scenarios = catalogue.list_scenarios()
    logged = _logged(words, scenarios)
    if logged:
        entries = [entry for entry in scenarios if entry.name in logged or _contains(entry, words)]
    else:
        entries = _containing(words, scenarios, "scenario", _experiments)
    if wants_json:
        _print_json("scenarios", [attrs.asdict(entry) | {"logs": logged.get(entry.name, [])} for entry in entries])
        return SUCCESS
    console = Terminal()
    other = {name: alias for alias, name in catalogue.ALIASES.items()}
    for entry in entries:
        alias = f" (also: {other[entry.name]})" if entry.name in other else ""
        console.print(Text.assemble((entry.name, "bold cyan"), alias))
        source = f" [{entry.source}]" if entry.source else ""
        console.print(Padding(Text(f"{entry.shows or entry.title}{source}"), (0, 0, 0, 4), expand=False))
        for line in logged.get(entry.name, [])[:_LINES]:
            console.print(Padding(Text(f"logs: {line}", "dim"), (0, 0, 0, 4), expand=False))
    return SUCCESS


def _logged(words: list[str], scenarios: Sequence[catalogue.Entry]) -> dict[str, list[str]]:
    """Return the scenarios that log a line with these words, each with the matching lines."""
    if not words or not (any(" " in word for word in words) or not any(_contains(entry, words) for entry in scenarios)):
        return {}
    return scenes_that_log(" ".join(words))


def list_experiments(words: list[str], wants_json: bool) -> int:
    """Print the experiments whose files contain all words; return the exit code."""
    entries = _containing(words, _experiments(), "experiment", catalogue.list_scenarios)
    if wants_json:
        _print_json("experiments", [attrs.asdict(entry) for entry in entries])
        return SUCCESS
    console = Terminal()
    for entry in entries:
        console.print(Text(entry.name, "bold cyan"))
        source = f" [{entry.source}]" if entry.source else ""
        console.print(Padding(Text(f"{entry.title}\n{entry.question}{source}"), (0, 0, 0, 4), expand=False))
    return SUCCESS


def _experiments() -> Sequence[Any]:
    from groupsim.pipeline.experiment.catalogue import list_experiments  # with the whole language of scenarios

    return list_experiments()


def _print_json(kind: str, listed: list[dict[str, Any]]) -> None:
    from groupsim.cli import as_json  # with all that a story is made of

    print(as_json.text({"schema": as_json.SCHEMA, kind: as_json.plain(listed)}))


def _containing(words: list[str], entries: Sequence[E], kind: str, others: Callable[[], Sequence[Any]]) -> list[E]:
    """Return the entries that contain every word, in any case. Raises Trouble if there is none."""
    found = [entry for entry in entries if _contains(entry, words)]
    if found:
        return found
    here, there = "groupsim list", "groupsim list --experiments"
    if kind == "experiment":
        here, there = there, here
    elsewhere = [entry.name for entry in others() if _contains(entry, words)]
    remedy = f"`{there} {shlex.join(words)}` finds {len(elsewhere)}" if elsewhere else f"`{here}` shows all"
    raise Trouble(f"no {kind} of the library contains {' and '.join(words)}", remedy)


def _contains(entry: Any, words: list[str]) -> bool:
    """Whether an entry's names and file contain every word: a setting, a client, an incident, a fault."""
    names = (entry.name, *(alias for alias, name in catalogue.ALIASES.items() if name == entry.name))
    text = "\n".join((*names, entry.path.read_text("utf-8"))).casefold()
    return all(word.casefold() in text for word in words)
