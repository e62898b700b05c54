"""An experiment from the command line alone: one scenario, and `--vary PATH=VALUE,VALUE…` for each axis.

So a question about two settings needs no file. What comes out is an experiment like any other: a sweep keeps its runs,
and is taken up again by the same command.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from groupsim.pipeline.experiment import catalogue
from groupsim.pipeline.experiment.asked import AS_WRITTEN, Asked
from groupsim.pipeline.experiment.load import experiment_of
from groupsim.pipeline.experiment.model import Experiment
from groupsim.protocol.values import frozen
from groupsim.scenarios.language.document import Document, name_of, read_document
from groupsim.scenarios.language.plain_data import Path_
from groupsim.scenarios.language.problems import Place, Problem, ScenarioError
from groupsim.scenarios.loading import catalogue as scenarios
from groupsim.scenarios.loading.changes import read_change

SHIFT = "shift-steps"
AS_IS = "as-is"  # the value that changes nothing, where the scenario does without the key

_OPENING, _CLOSING = "([{", ")]}"
_PATTERN = re.compile(r"[^\"'\[]*\{(?:name|n|group)\}.*")  # {name} is a pattern of names here, no YAML mapping


def experiment_varying(
    source: str, varied: Sequence[str], seeds: int | None = None, *, asked: Asked = AS_WRITTEN
) -> Experiment:
    """The scenario of that file or name, with the axes of these texts; the first value of each is the baseline.

    Raises ScenarioError for a text that names no path and two values, and for all that `load_experiment` refuses.
    """
    path = scenarios.find(source) if source not in catalogue.names() else catalogue.find(source)
    scenario = read_document(path)
    if catalogue.is_experiment(scenario):
        remedy = "ask for some values of its axes with --only, or name a scenario"
        raise ScenarioError([Problem(Place(source), "this is an experiment, and --vary varies a scenario", remedy)])
    document = _document(scenario, [_read(text) for text in varied])
    return experiment_of(document, name_of(path), seeds, asked=_out_of_phase(scenario, varied, asked))


def _out_of_phase(scenario: Document, varied: Sequence[str], asked: Asked) -> Asked:
    """Shift the steps of each seed, unless the scenario or the command line sets it.

    The steps of a scenario stand at fixed times, where heartbeats are in the same phase with every seed: many seeds
    would say no more than one. Experiments of a file draw what they want drawn, and say so themselves.
    """
    texts = [*asked.settings, *varied]
    written = scenario.data if isinstance(scenario.data, dict) else {}
    if SHIFT in written or not written.get("timeline") or any(text.startswith(f"{SHIFT}=") for text in texts):
        return asked
    return attrs.evolve(asked, settings=(f"{SHIFT}=true", *asked.settings))


@frozen
class _Axis:
    text: str
    path: str
    values: Mapping[str, Any]


def _document(scenario: Document, axes: Sequence[_Axis]) -> Document:
    """Return the content of an experiment's file, each part of the scenario at its place in the scenario's file."""
    short = [_short(axis.path) for axis in axes]
    vary: dict[str, Any] = {}
    moved: dict[Path_, Place] = {}
    for axis, name in zip(axes, short, strict=True):
        name = name if short.count(name) == 1 else axis.path
        if name in vary:
            raise _refused(axis.text, "this path is varied already", "name all of its values in one --vary")
        kept = {label: {} if value == AS_IS else {axis.path: value} for label, value in axis.values.items()}
        vary[name] = {"values": kept}
        moved[("vary", name)] = Place(f"--vary {axis.text}")
    found = scenario.data.get("title") if isinstance(scenario.data, dict) else None
    title = found if isinstance(found, str) else ""
    question = f"Which {' and which '.join(vary)}?"
    data = {"title": title, "question": question, "scenario": scenario.data, "vary": vary}
    keys = {("scenario", *path): spot for path, spot in scenario.keys.items()}
    values = {("scenario", *path): spot for path, spot in scenario.values.items()}
    return Document(scenario.file, data, keys, values, moved)


def _short(path: str) -> str:
    """What an axis is called: Kafka's own name of a setting, or the last key of another path."""
    found = re.search(r"(?:^|\.)(?:properties|broker)\.(.+)", path)
    return found[1] if found else path.rpartition(".")[2]


def _read(text: str) -> _Axis:
    path, sign, rest = text.partition("=")
    texts = [part.strip() for part in _parts(rest)]
    if not sign or not path or len(texts) < 2 or not all(texts):
        remedy = "such as --vary groups.orders.properties.session.timeout.ms=10s,45s"
        raise _refused(text, "this is no PATH=VALUE,VALUE", remedy)
    if len(set(texts)) < len(texts):
        twice = next(one for one in texts if texts.count(one) > 1)
        raise _refused(text, f"the value `{twice}` stands here twice", "keep one of them")
    try:
        return _Axis(text, path, {one.strip("\"'"): _value(path, one) for one in texts})
    except ScenarioError as error:
        raise _refused(text, error.problems[0].message, error.problems[0].remedy) from None


def _value(path: str, text: str) -> Any:
    return text if _PATTERN.fullmatch(text) else read_change(f"{path}={text}").value


def _parts(text: str) -> list[str]:
    """The text at its commas, but for those within brackets or quotes: `lognormal(median=2s, p95=9s)` is one value."""
    parts, depth, quote = [""], 0, ""
    for sign in text:
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "\"'":
            quote = sign
        elif sign in _OPENING or sign in _CLOSING:
            depth += 1 if sign in _OPENING else -1
        if sign == "," and not depth and not quote:
            parts.append("")
        else:
            parts[-1] += sign
    return parts


def _refused(text: str, message: str, remedy: str) -> ScenarioError:
    return ScenarioError([Problem(Place(f"--vary {text}"), message, remedy)])
