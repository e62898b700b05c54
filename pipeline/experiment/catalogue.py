"""The library of experiments of groupsim, by name."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

from groupsim.protocol.values import frozen
from groupsim.scenarios.language.document import STANDARD_INPUT, Document, read_document
from groupsim.scenarios.language.problems import one_problem
from groupsim.scenarios.loading import catalogue as scenarios


@frozen
class Entry:
    """One experiment of the library."""

    name: str
    path: Path
    title: str
    question: str
    source: str | None


def library() -> Path:
    """The folder of the library."""
    return Path(str(files("groupsim.pipeline.library")))


def names() -> tuple[str, ...]:
    """The names of the library's experiments, sorted."""
    return tuple(sorted(path.stem for path in library().glob("*.yaml")))


def list_experiments() -> tuple[Entry, ...]:
    """Every experiment with its title, its question and its source."""
    return tuple(_entries())


def _entries() -> Iterator[Entry]:
    for name in names():
        path = library() / f"{name}.yaml"
        data = read_document(path).data
        question = " ".join(str(data.get("question", "")).split())
        yield Entry(name, path, str(data.get("title", "")), question, data.get("source"))


def find(name: str) -> Path:
    """The file a name or path means: a file that exists, or an experiment of the library.

    Raises ScenarioError with the nearest name when there is neither.
    """
    path = Path(name)
    if name == "-":
        return STANDARD_INPUT
    if path.suffix in (".yaml", ".yml") or path.exists() or "/" in name:
        return path
    if name in names():
        return library() / f"{name}.yaml"
    if name in scenarios.names() or name in scenarios.ALIASES:
        remedy = f"say what to vary, as --vary PATH=VALUE,VALUE; `groupsim run {name}` runs it once"
        raise one_problem(name, "this is one scenario, and a sweep needs an experiment", remedy)
    message = "no file and no experiment of the library has this name"
    raise one_problem(name, message, scenarios.suggest_file(name, names()))


def called(file: str) -> str:
    """What a command calls the experiment, or the scenario, of this file: its name in the library, else the file."""
    path = Path(file)
    return path.stem if path.parent in (library(), scenarios.library()) else file


def is_experiment(document: Document) -> bool:
    """Whether a document is meant as an experiment and not as a scenario: it names a scenario, or varies something."""
    return isinstance(document.data, dict) and ("scenario" in document.data or "vary" in document.data)
