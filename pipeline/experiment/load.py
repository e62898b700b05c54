"""Load a file as an experiment that can run, or as a list of all its problems.

Every path, every label and every cell is validated here: the result has no misspelt name left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from groupsim.pipeline.experiment import catalogue
from groupsim.pipeline.experiment.asked import AS_WRITTEN, Asked, Grid, goals_named
from groupsim.pipeline.experiment.cells import Base, cells_of
from groupsim.pipeline.experiment.changing import change_of, shown
from groupsim.pipeline.experiment.file import ExperimentFile, SeedsSpec
from groupsim.pipeline.experiment.goals import baseline_labels, given_axes, goals_of, known_metrics
from groupsim.pipeline.experiment.grid import (
    Value,
    columns_of,
    combinations_of,
    refuse_too_many,
    refuse_too_many_runs,
)
from groupsim.pipeline.experiment.model import Cell, Experiment
from groupsim.scenarios.language.document import Document, name_of, read_document
from groupsim.scenarios.language.mistakes import Wrong, paths_of, problems_of
from groupsim.scenarios.language.plain_data import Path_
from groupsim.scenarios.language.problems import Place, Problem, ScenarioError, one_problem
from groupsim.scenarios.language.structure import structure
from groupsim.scenarios.language.values import LARGEST, Positive, quote
from groupsim.scenarios.loading import catalogue as scenarios
from groupsim.scenarios.loading import converters as _shapes  # noqa: F401  (registers the shapes of an inline scenario)
from groupsim.scenarios.loading.changes import Change
from groupsim.scenarios.loading.partial_parse import structured
from groupsim.scenarios.loading.plugins import import_from


def load_experiment(source: str | Path, seeds: int | None = None, *, asked: Asked = AS_WRITTEN) -> Experiment:
    """The experiment of that file or of that name in the library, with every cell judged.

    `seeds` takes the place of the file's number of seeds; `asked` is what else differs from the file. Raises
    ScenarioError with every mistake.
    """
    path = catalogue.find(str(source))
    return experiment_of(read_document(path), name_of(path), seeds, asked=asked)


def experiment_of(document: Document, name: str, seeds: int | None = None, *, asked: Asked = AS_WRITTEN) -> Experiment:
    """The same for a document at hand."""
    if seeds is not None and seeds < 1:
        problem = Problem(Place(f"--seeds {seeds}"), "an experiment needs at least one seed", "such as --seeds 30")
        raise ScenarioError([problem])

    def judge(rest: Document) -> Experiment:
        return experiment_of(rest, name, seeds, asked=asked)

    try:
        parsed = read_file(document)
    except ScenarioError as error:
        raise ScenarioError([*error.problems, *_besides(document, _strange(document), judge, error)]) from None
    parsed = parsed if seeds is None else attrs.evolve(parsed, seeds=attrs.evolve(parsed.seeds, count=Positive(seeds)))
    try:
        base = base_of(document, parsed, name)
        grid = asked.grid(columns_of(parsed.vary, document))
        changes = asked.changes(grid)
        base = attrs.evolve(base, common=(*base.common, *changes))
        combinations = _combinations(grid, parsed)
        goals = goals_of(parsed.goals, known_metrics()) if parsed.goals else ()
        goals = goals_named(asked.goals, known_metrics()) if asked.goals else goals
        of_file = baseline_labels(parsed.baseline, grid.every)
        labels = grid.baseline(of_file)
        given = grid.given(given_axes(parsed.given, grid.every))
    except ScenarioError:
        raise
    except ValueError as error:
        found = ScenarioError(_problems(error, document, seeds))
        raise ScenarioError([*found.problems, *_besides(document, paths_of(error), judge, found)]) from None
    folder = Path(base.document.file).resolve().parent
    import_from(folder)
    cells, warnings = cells_of(base, grid.axes, combinations)
    return Experiment(
        name=name,
        title=parsed.title or name,
        question=asked.added_to(" ".join(parsed.question.split())),
        source=parsed.source,
        notes=parsed.notes,
        file=document.file,
        folder=str(folder),
        common={change.path: shown(change.path, change.value) for change in base.common},
        command_line={change.path: shown(change.path, change.value) for change in changes},
        axes=tuple(column.axis for column in grid.axes),
        cells=cells,
        seeds=tuple(range(parsed.seeds.from_, parsed.seeds.from_ + parsed.seeds.count)),
        baseline=_baseline(cells, labels, parsed.baseline if grid.has(of_file) else {}, document),
        given=given,
        goals=goals,
        warnings=warnings,
    )


def _strange(document: Document) -> list[Path_]:
    """Where the file has not the shape of an experiment."""
    if not catalogue.is_experiment(document):
        return [()]
    try:
        structure(document.data, ExperimentFile)
    except ValueError as error:
        return paths_of(error)
    return []


def _besides(
    document: Document, wrong: Sequence[Path_], judge: Callable[[Document], object], reported: ScenarioError
) -> list[Problem]:
    """What else is wrong, in the part of the file that can be judged."""
    rest = _without(document, wrong)
    if rest is None:
        return []
    try:
        judge(rest)
    except ScenarioError as error:
        return [problem for problem in error.problems if problem not in reported.problems]
    return []


_NAMES_AXES = ("skip", "baseline", "given")


def _without(document: Document, wrong: Iterable[Path_]) -> Document | None:
    """Return the document without these paths; None where nothing would be left to validate.

    Only whole axes, changes and sections are taken out: nothing changes its place, and no list its numbers. Where axes
    go, so does what names them.
    """
    data = dict(document.data)
    for path in wrong:
        if not path or path[0] == "scenario" or path[0] not in document.data:
            return None
        top, below = path[0], path[1:2]
        held = data.get(top)
        if top in ("vary", "set") and below and isinstance(held, dict):
            data[top] = {name: value for name, value in held.items() if name != below[0]}
        else:
            data.pop(top, None)
        if top == "vary":
            data = {name: value for name, value in data.items() if name not in _NAMES_AXES}
    if data == document.data or not data.get("vary"):
        return None
    return attrs.evolve(document, data=data)


def _problems(error: ValueError, document: Document, seeds: int | None) -> list[Problem]:
    """Return the problem of too many seeds, at the command line or the file."""
    if seeds is not None and isinstance(error, Wrong) and error.below == ("seeds",):
        return [Problem(Place(f"--seeds {seeds}"), str(error), error.remedy)]
    return problems_of(error, document)


def read_file(document: Document) -> ExperimentFile:
    """Decode the file and validate its shape only. Raises ScenarioError."""
    if not catalogue.is_experiment(document):
        message = "this is no experiment: it has neither `scenario` nor `vary`"
        remedy = "it names a scenario and what to vary; a scenario alone is for `groupsim run`, or for --vary PATH=A,B"
        raise ScenarioError([Problem(Place(document.file, 1, 1), message, remedy)])
    try:
        found: ExperimentFile = structure(document.data, ExperimentFile)
    except ValueError as error:
        raise ScenarioError([*problems_of(error, document), *_of_the_scenario(document)]) from None
    return found


def _of_the_scenario(document: Document) -> Sequence[Problem]:
    """What is wrong with a scenario written in the experiment, as far as `set` cannot mend it."""
    if not isinstance(document.data.get("scenario"), dict) or document.data.get("set"):
        return ()
    try:
        structured(_inline(document))
    except ScenarioError as error:
        return error.problems
    return ()


def _combinations(grid: Grid, parsed: ExperimentFile) -> list[tuple[Value, ...]]:
    """The combinations that are wanted; `skip` speaks of the file's axes."""
    seeds: SeedsSpec = parsed.seeds
    if seeds.from_ + seeds.count > LARGEST:
        raise Wrong("these seeds do not fit into 64 bits", "begin with a smaller one", below=("seeds",))
    refuse_too_many(grid.every, seeds.count)
    whole = list(combinations_of(grid.every, parsed.skip))
    if not whole:
        raise Wrong("`skip` leaves out every cell of the grid", "remove one of its lines", below=("skip",))
    found = grid.cells(whole)
    if not found:
        raise one_problem("--only", "`skip` of the experiment leaves out all that is asked for", "ask for other values")
    refuse_too_many_runs(grid.axes, len(found), seeds.count)
    return found


def _baseline(cells: Sequence[Cell], labels: Mapping[str, str], parsed: Mapping[str, Any], document: Document) -> int:
    """Return the number of the baseline; the first cell when the file has none and its own is left out."""
    for cell in cells:
        if cell.labels == labels:
            return cell.number
    if not parsed:
        return 0
    wanted = ", ".join(f"{axis}={label}" for axis, label in labels.items())
    problem = Problem(document.at_value(("baseline",)), f"`skip` leaves out the baseline {wanted}", "choose another")
    raise ScenarioError([problem])


# --- the scenario ---------------------------------------------------------------------------------------------------


def base_of(document: Document, parsed: ExperimentFile, name: str) -> Base:
    """Return the scenario to vary, with the settings of every cell. Raises ScenarioError."""
    place = document.at_value(("scenario",))
    if isinstance(parsed.scenario, dict):
        inner = _inline(document)
    elif isinstance(parsed.scenario, str) and parsed.scenario:
        path = _find(parsed.scenario, document, place)
        inner, name = read_document(path), name_of(path)
    else:
        remedy = "name one of `groupsim list`, a file, or write a whole scenario here"
        raise ScenarioError([Problem(place, f"expected a scenario, found {quote(parsed.scenario)}", remedy)])
    return Base(inner, name, tuple(_common(document, parsed)))


def _inline(document: Document) -> Document:
    """The scenario written in the experiment, each part at its place in the experiment's file."""
    keys = {path[1:]: spot for path, spot in document.keys.items() if path[0] == "scenario"}
    values = {path[1:]: spot for path, spot in document.values.items() if path and path[0] == "scenario"}
    return Document(document.file, document.data["scenario"], keys, values)


def _find(wanted: str, document: Document, place: Place) -> Path:
    beside = Path(document.file).parent / wanted
    if beside.is_file():
        return beside
    if beside.suffix in (".yaml", ".yml") or "/" in wanted:
        raise ScenarioError([Problem(place, f"there is no file `{beside}`", "the path is relative to this file")])
    try:
        return scenarios.find(wanted)
    except ScenarioError as error:
        problem = attrs.evolve(error.problems[0], place=place, message=f"there is no scenario `{wanted}`")
        raise ScenarioError([problem]) from None


def _common(document: Document, parsed: ExperimentFile) -> list[Change]:
    return [
        change_of(path, value, document, ("set", path), document.at_key(("set", path)))
        for path, value in parsed.set_.items()
    ]
