"""`groupsim list`: the scenarios of the library, or its experiments."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import attrs
from rich.padding import Padding
from rich.text import Text

from groupsim.cli.exits import WELL, Trouble
from groupsim.cli.terminal import Terminal
from groupsim.logs.finding import scenes_that_log
from groupsim.scenarios.loading import catalogue

E = TypeVar("E")
_LINES = 2
"""How many of the log lines that were searched for are shown with a scenario."""


def list_scenarios(words: list[str], wants_json: bool) -> int:
    """Print the scenarios whose files have all these words, or that log such a line; returns the exit code.

    Logs are searched for a phrase (several words as one argument), and where no file has the words.
    """
    scenarios = catalogue.list_scenarios()
    logged = _logged(words, scenarios)
    if logged:
        entries = [entry for entry in scenarios if entry.name in logged or _speaks_of(entry, words)]
    else:
        entries = _speaking_of(words, scenarios, "scenario", _experiments)
    if wants_json:
        _print_json("scenarios", [attrs.asdict(entry) | {"logs": logged.get(entry.name, [])} for entry in entries])
        return WELL
    console = Terminal()
    other = {name: alias for alias, name in catalogue.ALIASES.items()}
    for entry in entries:
        alias = f" (also: {other[entry.name]})" if entry.name in other else ""
        console.print(Text.assemble((entry.name, "bold cyan"), alias))
        source = f" [{entry.source}]" if entry.source else ""
        console.print(Padding(Text(f"{entry.shows or entry.title}{source}"), (0, 0, 0, 4), expand=False))
        for line in logged.get(entry.name, [])[:_LINES]:
            console.print(Padding(Text(f"logs: {line}", "dim"), (0, 0, 0, 4), expand=False))
    return WELL


def _logged(words: list[str], scenarios: Sequence[catalogue.Entry]) -> dict[str, list[str]]:
    """Return the scenarios that log a line like these words, each with the forms of the line."""
    if not words or not (
        any(" " in word for word in words) or not any(_speaks_of(entry, words) for entry in scenarios)
    ):
        return {}
    return scenes_that_log(" ".join(words))


def list_experiments(words: list[str], wants_json: bool) -> int:
    """Print the experiments of the library whose files have all these words; returns the exit code."""
    entries = _speaking_of(words, _experiments(), "experiment", catalogue.list_scenarios)
    if wants_json:
        _print_json("experiments", [attrs.asdict(entry) for entry in entries])
        return WELL
    console = Terminal()
    for entry in entries:
        console.print(Text(entry.name, "bold cyan"))
        source = f" [{entry.source}]" if entry.source else ""
        console.print(Padding(Text(f"{entry.title}\n{entry.question}{source}"), (0, 0, 0, 4), expand=False))
    return WELL


def _experiments() -> Sequence[Any]:
    from groupsim.pipeline.experiment.catalogue import list_experiments  # with the whole language of scenarios

    return list_experiments()


def _print_json(kind: str, listed: list[dict[str, Any]]) -> None:
    from groupsim.cli import as_json  # with all that a story is made of

    print(as_json.text({"schema": as_json.SCHEMA, kind: as_json.plain(listed)}))


def _speaking_of(words: list[str], entries: Sequence[E], kind: str, others: Callable[[], Sequence[Any]]) -> list[E]:
    """The entries that speak of every word, whatever its case. Raises Trouble where there is none."""
    found = [entry for entry in entries if _speaks_of(entry, words)]
    if found:
        return found
    here, there = "groupsim list", "groupsim list --experiments"
    if kind == "experiment":
        here, there = there, here
    elsewhere = [entry.name for entry in others() if _speaks_of(entry, words)]
    remedy = f"`{there} {shlex.join(words)}` finds {len(elsewhere)}" if elsewhere else f"`{here}` shows all"
    raise Trouble(f"no {kind} of the library speaks of {' and '.join(words)}", remedy)


def _speaks_of(entry: Any, words: list[str]) -> bool:
    """Whether one of its names or its file has every word: a setting, a client, an incident, a fault."""
    names = (entry.name, *(alias for alias, name in catalogue.ALIASES.items() if name == entry.name))
    said = "\n".join((*names, entry.path.read_text("utf-8"))).casefold()
    return all(word.casefold() in said for word in words)
