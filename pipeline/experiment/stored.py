"""An experiment as JSON, in the directory of a sweep, readable without YAML and without the file."""

from __future__ import annotations

from typing import Any

from groupsim.pipeline.experiment.model import FORMAT, Axis, Cell, Experiment, Goal
from groupsim.scenarios.language.problems import ScenarioError, one_problem
from groupsim.scenarios.loading.canonical import digest, dump, parse

_TEXTS = ("name", "title", "question", "source", "notes", "file", "folder")


def to_json(experiment: Experiment) -> str:
    """The experiment as a JSON text in ASCII, one cell a line; equal experiments give equal texts."""
    head: dict[str, Any] = {"format": FORMAT, "digest": experiment.digest}
    head |= {name: getattr(experiment, name) for name in _TEXTS}
    head |= {
        "common": experiment.common,
        "told": experiment.command_line,
        "axes": [{"name": axis.name, "path": axis.path, "labels": axis.labels} for axis in experiment.axes],
        "seeds": list(experiment.seeds),
        "baseline": experiment.baseline,
        "given": list(experiment.given),
        "goals": [_goal(goal) for goal in experiment.goals],
    }
    cells = ",\n".join(dump(_cell(cell)) for cell in experiment.cells)
    return f'{dump(head)[:-1]},"cells":[\n{cells}\n]}}\n'


def _cell(cell: Cell) -> dict[str, Any]:
    return {"labels": cell.labels, "settings": cell.settings, "digest": cell.digest, "document": cell.document}


def _goal(goal: Goal) -> dict[str, Any]:
    return {
        "metric": goal.metric,
        "direction": goal.direction,
        "at-most": goal.at_most,
        "at-least": goal.at_least,
    }


def from_json(text: str, file: str = "experiment.json") -> Experiment:
    """The experiment that `to_json` wrote; `file` is named in errors.

    Raises ScenarioError when the text is none, was damaged, or was written by another version.
    """
    try:
        return _read(parse(text), file)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, ScenarioError):
            raise
        remedy = "it is written by `groupsim sweep` and not to be edited; begin a new directory"
        raise one_problem(file, f"this is no stored experiment ({type(error).__name__}: {error})", remedy) from None


def _read(data: dict[str, Any], file: str) -> Experiment:
    if data["format"] != FORMAT:
        message = f"was written in format {data['format']}, this version reads {FORMAT}"
        raise one_problem(file, message, "use the version of groupsim that wrote it, or begin a new directory")
    experiment = Experiment(
        **{name: data[name] for name in _TEXTS},
        common=data["common"],
        command_line=data.get("told", {}),
        axes=tuple(Axis(axis["name"], tuple(axis["labels"]), axis["path"]) for axis in data["axes"]),
        cells=tuple(
            Cell(number, cell["labels"], cell["settings"], cell["document"], cell["digest"])
            for number, cell in enumerate(data["cells"])
        ),
        seeds=tuple(data["seeds"]),
        baseline=data["baseline"],
        given=tuple(data.get("given", ())),
        goals=tuple(
            Goal(goal["metric"], goal["direction"], goal["at-most"], goal["at-least"]) for goal in data["goals"]
        ),
    )
    damaged = any(digest(cell.document) != cell.digest for cell in experiment.cells)
    if damaged or experiment.digest != data["digest"]:
        raise one_problem(file, "was changed since it was written: its digests do not fit", "begin a new directory")
    return experiment
