"""Validate producers: their settings, their transactions, their steps.

`data.py` calls it. Errors prevent a run; warnings and notes name settings that are probably mistakes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from groupsim.members.keys import SECRET_NOTE
from groupsim.members.producer.keys import PRODUCER_KEYS
from groupsim.members.producer.settings import producer_settings_from
from groupsim.members.settings import Note, SettingError
from groupsim.scenarios.language.document import Document
from groupsim.scenarios.language.model import ProducerSpec, Scenario
from groupsim.scenarios.language.plain_data import Path_
from groupsim.scenarios.language.problems import ERROR, NOTE, WARNING, Place, Problem
from groupsim.scenarios.language.properties import parse_properties
from groupsim.scenarios.plans.producers import ProducerPlan, millionths, producer_plans
from groupsim.scenarios.plans.property_places import in_file

_ID = "transactional.id"


def noted_producers(scenario: Scenario, document: Document) -> Iterator[Problem]:
    """Yield notes on the producers' settings: unknown ones, those without effect, and conflicts."""
    ids: dict[str, ProducerPlan] = {}
    for plan in producer_plans(scenario, Path(document.file).parent):
        path: Path_ = ("producers", plan.key)
        try:
            properties = plan.properties()
        except (OSError, ValueError) as error:
            if plan.number == 1:
                yield _unreadable(path, plan.spec, error, document)
            continue
        if plan.number == 1:
            yield from settings_problems(path, properties, document, plan.secrets())
            yield from _transactions(path, properties, plan.spec, document)
            yield from _steps(path, plan.spec, scenario, document)
        yield from _shared_id(path, plan, properties, ids, document)


def _unreadable(path: Path_, spec: ProducerSpec, error: Exception, document: Document) -> Problem:
    words = getattr(error, "strerror", None) or str(error)
    message = f"`{spec.properties_file}` cannot be read: {words.lower()}"
    return Problem(document.at_value((*path, "properties-file")), message, "write a path relative to the scenario file")


def _transactions(
    path: Path_, properties: Mapping[str, object], spec: ProducerSpec, document: Document
) -> Iterator[Problem]:
    if _ID not in properties:
        if spec.commit_every is not None:
            place = document.at_value((*path, "commit-every"))
            yield Problem(place, "`commit-every` needs a transactional producer", "add `transactional-id`")
    elif spec.commit_every is None:
        remedy = "add `commit-every`, for example 1s; until then read_committed consumers get no record"
        yield Problem(document.at_key(path), "this producer never commits", remedy, WARNING)


def _shared_id(
    path: Path_,
    plan: ProducerPlan,
    properties: Mapping[str, object],
    ids: dict[str, ProducerPlan],
    document: Document,
) -> Iterator[Problem]:
    """Yield a note for producers that fence each other, once per specification."""
    own = properties.get(_ID)
    if not isinstance(own, str):
        return
    other = ids.setdefault(own, plan)
    if other is plan or (plan.key == other.key and plan.number > 2):
        return
    message = f"`{plan.name}` and `{other.name}` have the same transactional.id, `{own}`"
    remedy = "the later start fences the other producer (PRODUCER_FENCED): write `{name}` or `{n}` in it to avoid that"
    place = next((one for one in ("transactional-id", "properties-file") if document.holds((*path, one))), None)
    yield Problem(document.at_key((*path, place) if place else path), message, remedy, NOTE)


def _steps(path: Path_, spec: ProducerSpec, scenario: Scenario, document: Document) -> Iterator[Problem]:
    """Yield notes on steps without effect: the same rate, the same time as the next step, or after the end."""
    rate = spec.rate
    for step in sorted(spec.steps, key=lambda one: int(one.at)):
        where = (*path, "steps", spec.steps.index(step))
        later = [one for one in spec.steps if one is not step and int(one.at) == int(step.at)]
        if later and spec.steps.index(step) < spec.steps.index(later[-1]):
            yield _idle(where, "a later step has the same time and replaces it", document)
        elif millionths(step.rate) == millionths(rate):
            yield _idle(where, "the rate has this value already", document)
        elif int(step.at) >= scenario.run_for:
            yield _idle(where, "the run ends before it", document)
        rate = step.rate


def _idle(where: Path_, why: str, document: Document) -> Problem:
    return Problem(document.at_value(where), "a step without effect", f"{why}: change or remove it", NOTE)


# --- settings --------------------------------------------------------------------------------------------------------


def settings_problems(
    path: Path_, properties: Mapping[str, object], document: Document, secrets: tuple[str, ...] = ()
) -> Iterator[Problem]:
    """Yield impossible values, and notes on unknown settings, those without effect, and left-out secrets."""
    try:
        _, notes = producer_settings_from(properties)
    except SettingError as error:
        place = place_of(document, path, error.key)
        yield Problem(place, f"`{error.key}` = {error.value}: {error.problem}", error.remedy)
        return
    for note in (*notes, *(Note("note", name, SECRET_NOTE) for name in secrets)):
        written = document.holds((*path, "properties", note.key))
        yield _note(note, place_of(document, path, note.key), written=written)


def place_of(document: Document, path: Path_, key: str) -> Place:
    """Return the place of a producer's setting, in a .properties file too; pasted text has one place for all."""
    for way in ((*path, "properties", key), (*path, key.replace(".", "-"))):
        if document.holds(way):
            return document.at_key(way)
    written = (*path, "properties") if document.holds((*path, "properties")) else path
    in_text = key in _pasted(document, written)
    named = _at(document, (*path, "properties-file"))
    elsewhere = None if in_text or not isinstance(named, str) else in_file(document, named, key)
    return elsewhere or document.at_key(written)


def _pasted(document: Document, path: Path_) -> Mapping[str, object]:
    """Return the settings of pasted text; none for a mapping."""
    found = _at(document, path)
    return parse_properties(found) if isinstance(found, str) else {}


def _at(document: Document, path: Path_) -> object:
    here = document.data
    for part in path:
        here = here.get(part) if isinstance(here, dict) else None
    return here


def _note(note: Note, place: Place, *, written: bool) -> Problem:
    """Return a note as a problem: a misspelt key in the file's own mapping is an error, in pasted text a warning."""
    message, _, remedy = note.message.partition("; ")
    shown = message if note.key in message else f"`{note.key}`: {message}"
    misspelt = note.key not in PRODUCER_KEYS and "did you mean" in remedy and written
    level = ERROR if misspelt else WARNING if note.level == "warning" else NOTE
    return Problem(place, shown, remedy, level)
