"""Validate a well-formed scenario before it runs, with the place of every mistake.

`references.py` checks names. This module checks values (a heartbeat as long as the session, a step
after the end), clients and assignors, and warns of failures at run time.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from groupsim.assignors.base.errors import AssignorError
from groupsim.assignors.registry import resolve
from groupsim.coordinator.base.config import CoordinatorConfig
from groupsim.coordinator.base.placement import OFFSETS_TOPIC
from groupsim.eventloop.distributions import Distribution
from groupsim.eventloop.units import parse_duration, show_us
from groupsim.members.keys import SECRET_NOTE
from groupsim.members.settings import ConsumerSettings, Note, SettingError
from groupsim.members.zookeeper.kinds import client_settings, uses_zookeeper
from groupsim.scenarios.language.acls import wrong_acls
from groupsim.scenarios.language.clients import profile_note, simulated
from groupsim.scenarios.language.document import Document
from groupsim.scenarios.language.keys import fields_of
from groupsim.scenarios.language.mistakes import Wrong
from groupsim.scenarios.language.model import GroupSpec, MemberDefaults, MemberSpec, Scenario
from groupsim.scenarios.language.plain_data import Path_
from groupsim.scenarios.language.problems import ERROR, NOTE, WARNING, Problem, suggest
from groupsim.scenarios.language.registry import StepAction
from groupsim.scenarios.language.targets import split_partition
from groupsim.scenarios.language.values import (
    END,
    MOST_PROCESSES,
    PROCESSES_REMEDY,
    Moment,
    Properties,
    quote,
)
from groupsim.scenarios.plans.clusters import check_settings, coordinator_config, is_replicated
from groupsim.scenarios.plans.fleets import unfolded
from groupsim.scenarios.plans.members import (
    MemberPlan,
    group_plans,
    inherit,
    partition_limits,
    plans,
    properties_of,
    secrets_of,
)
from groupsim.scenarios.plans.property_places import path_of, place_of
from groupsim.scenarios.steps.actions import AddAcls, AddPartitions, AlterGroupConfig, RemoveAcls
from groupsim.scenarios.validation.broker_lives import impossible_lives
from groupsim.scenarios.validation.data import REMEDY, noted_data, wrong_data
from groupsim.scenarios.validation.group_config import wrong_group_config
from groupsim.scenarios.validation.new_settings import wrong_new_settings
from groupsim.scenarios.validation.references import wrong_names
from groupsim.scenarios.validation.steps import noted_steps
from groupsim.scenarios.validation.subscriptions import regex_is_refused, subscribes, wrong_patterns
from groupsim.scenarios.validation.writes import broker_path

Found = Iterator[tuple[Path_, Wrong]]

MOST_REPETITIONS = 1_000_000
TOPIC_NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}")


def judge(
    scenario: Scenario, document: Document, cuts: Sequence[Path_] = (), doubtful: frozenset[str] = frozenset()
) -> list[Problem]:
    """Return every error of a scenario, and warnings and notes if it has no error.

    `cuts` are the unreadable paths that were removed: they have no findings, nor have names that are
    `doubtful` (see `scenarios/loading/partial_parse.py`).
    """
    too_many = list(_too_many(scenario))
    every = scenario if too_many else unfolded(scenario)
    errors = [*too_many, *_whole(scenario, document), *_groups(scenario), *_taken(scenario, every), *_times(scenario)]
    errors += wrong_names(every, doubtful)
    errors += wrong_new_settings(scenario, Path(document.file).parent)
    if not any(cut[0] == "timeline" for cut in cuts if cut) and "brokers" not in doubtful:
        errors += impossible_lives(scenario)
    sure = (_at(document, path, wrong, ERROR) for path, wrong in errors if _is_sure(path, cuts, doubtful))
    problems = list(dict.fromkeys(sure))
    settings = list(_settings(scenario, document))
    if problems or cuts:
        return [*problems, *(one for one in settings if one.severity == ERROR)]
    return [*problems, *settings, *noted_data(scenario, document), *noted_steps(scenario, document)]


def _is_sure(path: Path_, cuts: Sequence[Path_], doubtful: frozenset[str]) -> bool:
    """Return whether a mistake is not a consequence of the removed part."""
    if any(path[: len(cut)] == cut or cut[: len(path)] == path for cut in cuts):
        return False
    named = path and (isinstance(path[-1], int) or path[-1] in _NAMING)
    return not (named and doubtful & {"topics", "brokers"})


#: Keys outside of steps that name topics or brokers, or count them.
_NAMING = ("subscribe", "assign", "to", "topic", "replication", "replicas", "weights")


def _at(document: Document, path: Path_, wrong: Wrong, level: str) -> Problem:
    whole = (*path, *wrong.below)
    place = document.at_key(whole) if wrong.at_key else document.at_value(whole)
    name = next((part for part in reversed(path) if isinstance(part, str)), None)
    return Problem(place, (f"`{name}`: " if name else "") + wrong.message, wrong.remedy, level)


def _whole(scenario: Scenario, document: Document) -> Found:
    if scenario.run_for == 0:
        yield ("run-for",), Wrong("the run has no duration", "write for example `run-for: 60s`")
    if not scenario.groups:
        yield (), Wrong("the scenario has no group", "add `groups:` with a group and its members")
    if not any(spec.members for spec in scenario.groups.values()) and scenario.groups:
        yield ("groups",), Wrong("no group has a member", "add `members:`, for example `c: {count: 3}`")
    for name in scenario.topics:
        if not TOPIC_NAME.fullmatch(name) or name in (".", ".."):
            remedy = "write at most 249 of letters, digits, `.`, `_` and `-`"
            yield ("topics", name), Wrong(f"{quote(name)} is not a valid topic name", remedy, at_key=True)
    yield from wrong_data(scenario)
    yield from _broker(scenario, document)


def _broker(scenario: Scenario, document: Document) -> Found:
    """Yield the mistakes in the brokers' settings, one at a time: each check stops at the first."""
    left = dict(scenario.broker.properties)
    for _ in range(len(left) + 1):
        try:
            return check_settings(
                attrs.evolve(scenario, broker=attrs.evolve(scenario.broker, properties=Properties(left)))
            )
        except ValueError as error:
            message, _, remedy = str(error).partition("; ")
            yield _broker_path(scenario, document, message), Wrong(message, remedy)
            named = _setting_in(message, left)
            if named is None:
                return
            del left[named]


def _too_many(scenario: Scenario) -> Found:
    """Yield an error if all members of all groups, or all producers, are too many for a run."""
    members: list[tuple[Path_, int]] = [
        (("groups", group, "members", name), own.count * spec.count)
        for group, spec in scenario.groups.items()
        for name, own in spec.members.items()
    ]
    producers: list[tuple[Path_, int]] = [(("producers", name), own.count) for name, own in scenario.producers.items()]
    for kind, counts in (("members", members), ("producers", producers)):
        total = sum(count for _, count in counts)
        if total > MOST_PROCESSES:
            largest = max(counts, key=lambda one: one[1])[0]
            yield largest, Wrong(f"{total:,} {kind} in all are more than a run can hold", PROCESSES_REMEDY)


def _setting_in(message: str, names: Iterable[str]) -> str | None:
    """Return the setting that a message is about: the longest name in it (`offsets.topic.num.partitions`)."""
    return max((name for name in names if name in message), key=len, default=None)


def _broker_path(scenario: Scenario, document: Document, message: str) -> Path_:
    named = _setting_in(message, scenario.broker.properties)
    if named is not None:
        return broker_path(document, named)
    if message.startswith("broker.brokers"):
        return ("broker", "brokers")
    return ("broker", "version") if scenario.broker.version is not None else ("broker",)


def _taken(scenario: Scenario, every: Scenario) -> Found:
    """Yield names of groups and processes that two specifications make; `every` has each group by its id."""
    written = {name: (key, spec) for key, spec in scenario.groups.items() for name in every.fleets.get(key, (key,))}
    made = Counter(name for key in scenario.groups for name in every.fleets.get(key, (key,)))
    for key, spec in scenario.groups.items():
        if spec.count == 0:
            yield ("groups", key, "count"), Wrong("a group with count 0", "write at least 1, or remove the group")
        if spec.count == 1 and made[key] > 1:
            yield ("groups", key), Wrong(f"`{key}` is also a group of a fleet", "rename one", at_key=True)
    seen: dict[str, str] = {}
    for plan in plans(every):
        if plan.name in seen:
            key, spec = written[plan.group]
            member = plan.key if spec.count == 1 else plan.key.removeprefix(f"{plan.group}-")
            path: Path_ = ("groups", key, "members", member)
            remedy = "choose a name that no other process has"
            yield path, Wrong(f"`{plan.name}` is a member of `{seen[plan.name]}` already", remedy, at_key=True)
        seen[plan.name] = plan.group


def _groups(scenario: Scenario) -> Found:
    limits = partition_limits(scenario)
    for group, spec in scenario.groups.items():
        yield from _names(("groups", group), spec, limits)
        yield from _repetitions(("groups", group), spec, scenario.run_for)
        for member, own in spec.members.items():
            yield from _names(("groups", group, "members", member), own, limits)
            yield from _assigned(("groups", group, "members", member), own, limits)
            yield from _repetitions(("groups", group, "members", member), own, scenario.run_for)
            yield from _polls(group, spec, member, scenario.run_for)


def _names(path: Path_, spec: MemberDefaults, limits: Mapping[str, int]) -> Found:
    """Check the client, topics, pattern and assignors of a group or member."""
    if spec.client is not None:
        try:
            simulated(spec.client)
        except ValueError as error:
            message, _, remedy = str(error).partition("; ")
            yield (*path, "client"), Wrong(message, remedy)
    for topic in spec.subscribe or ():
        if topic not in limits:
            yield (*path, "subscribe"), _no_topic(topic, limits)
    yield from wrong_patterns(path, spec)
    for name in spec.assignor or ():
        yield from _assignor((*path, "assignor"), name)


def _no_topic(topic: str, limits: Mapping[str, int]) -> Wrong:
    if topic == OFFSETS_TOPIC:
        return Wrong(f"counted logs have no `{topic}` to read", REMEDY)
    return Wrong(f"there is no topic `{topic}`", suggest(topic, limits, "topics here"))


def _assigned(path: Path_, spec: MemberSpec, limits: Mapping[str, int]) -> Found:
    """Check partitions that a member assigns to itself."""
    if spec.assign is not None and subscribes(spec):
        yield (*path, "assign"), Wrong("both a subscription and `assign`", "keep one of the two")
    for name in spec.assign or ():
        topic, number = split_partition(name) or (name, 0)
        if topic not in limits:
            yield (*path, "assign"), _no_topic(topic, limits)
        elif number >= limits[topic]:
            yield (*path, "assign"), Wrong(f"there is no partition `{name}`", f"`{topic}` has only {limits[topic]}")


def _assignor(path: Path_, name: str) -> Found:
    try:
        resolve(name)
    except AssignorError as error:
        yield path, Wrong(f"assignor `{name}`: {error.problem}")


def _times(scenario: Scenario) -> Found:
    """Check that no step or expectation is later than the end of the run."""
    for index, step in enumerate(scenario.timeline):
        path: Path_ = ("timeline", index)
        at_us = scenario.run_for if step.at == "never" else step.at
        if at_us > scenario.run_for:
            at, end = show_us(at_us), show_us(scenario.run_for)
            yield (*path, "at"), Wrong(f"{at} is after the end of the run ({end})", "raise `run-for`, or change `at`")
        if step.times is not None and step.every is None:
            yield (*path, "times"), Wrong("`times` without `every`", "add `every`, the interval")
        if step.every == 0:
            yield (*path, "every"), Wrong("endless repetition at one instant", "write for example `every: 10s`")
        elif step.every is not None:
            times = (scenario.run_for - at_us) // step.every
            yield from _too_often((*path, "every"), min(times, step.times or times))
        yield from _step(path, step.action, scenario)
    for index, expectation in enumerate(scenario.expect):
        yield from _late(expectation.check, ("expect", index, expectation.check.NAME), scenario.run_for)


def _too_often(path: Path_, times: int) -> Found:
    if times > MOST_REPETITIONS:
        message = f"{times:,} repetitions are too many"
        yield path, Wrong(message, f"write a longer interval or a shorter `run-for`; the limit is {MOST_REPETITIONS:,}")


def _repetitions(path: Path_, spec: MemberDefaults, run_for_us: int) -> Found:
    """Check how often members repeat an activity with a constant interval."""
    if spec.rejoin_every is not None and (interval := _constant(spec.rejoin_every)) is not None:
        yield from _too_often((*path, "rejoin-every"), run_for_us // max(interval, 1))
    if spec.pauses is not None:
        gap, length = _constant(spec.pauses.every), _constant(spec.pauses.length)
        if gap is not None and length is not None:
            yield from _too_often((*path, "pauses"), run_for_us // max(gap + length, 1))


def _polls(group: str, spec: GroupSpec, member: str, run_for_us: int) -> Found:
    """Check that polls without records take time: otherwise virtual time would never advance."""
    whole = inherit(spec, spec.members[member])
    if whole.poll_timeout is None:
        return
    own = spec.members[member].poll_timeout is not None
    path: Path_ = ("groups", group, *(("members", member) if own else ()), "poll-timeout")
    if whole.client is not None and _is_client(whole.client) and uses_zookeeper(simulated(whole.client)):
        yield path, Wrong(f"`{whole.client}` has an iterator in place of poll", "remove the key for this client")
        return
    times = [_constant(one) for one in (whole.poll_timeout, whole.poll_gap) if one is not None]
    if not any(times) and None not in times:
        message = "endless polls at one instant"
        yield path, Wrong(message, "write at least 1ms, or add `poll-gap`")
    elif None not in times:
        yield from _too_often(path, run_for_us // sum(one for one in times if one is not None))


def _constant(distribution: Distribution) -> int | None:
    """Return the duration if it is constant, else None."""
    try:
        return parse_duration(distribution.spec)
    except ValueError:
        return None


def _step(path: Path_, action: StepAction, scenario: Scenario) -> Found:
    """Check an action before it runs."""
    if isinstance(action, AddAcls | RemoveAcls):
        for below, wrong in wrong_acls(action.acls):
            yield (*path, "acls", *below), wrong
    if isinstance(action, AlterGroupConfig):
        yield from wrong_group_config((*path, "properties"), action, scenario)
    topic = scenario.topics.get(action.topic) if isinstance(action, AddPartitions) else None
    if isinstance(action, AddPartitions) and topic is not None and action.to <= topic.partitions:
        message = f"`{action.topic}` has {topic.partitions} partitions already"
        yield (*path, "to"), Wrong(message, f"write at least {topic.partitions + 1}")


def _late(item: Any, path: Path_, end_us: int) -> Found:
    for name, field in fields_of(type(item)).items():
        value = getattr(item, field.name)
        if field.type in (Moment, Moment | None) and value is not None and end_us < value < END:
            message = f"{show_us(value)} is after the end of the run ({show_us(end_us)})"
            yield (*path, name), Wrong(message, "raise `run-for`, or write `end`")
        elif hasattr(type(value), "__attrs_attrs__"):
            yield from _late(value, (*path, name), end_us)


# --- the clients' settings ------------------------------------------------------------------------------------------


def _settings(scenario: Scenario, document: Document) -> list[Problem]:
    """Yield impossible values, unknown keys, and sessions that the broker will refuse, of all members."""
    folder = Path(document.file).parent
    broker = _bounds(scenario)
    problems: dict[tuple[str, str], Problem] = {}
    for group, spec in scenario.groups.items():
        for plan in _one_of_each(group, spec):
            for problem in _of_member(plan, document, folder, broker, pulls=is_replicated(scenario)):
                problems.setdefault((str(problem.place), problem.message), problem)
    return [*problems.values(), *_profile_notes(scenario, document)]


def _profile_notes(scenario: Scenario, document: Document) -> Iterator[Problem]:
    """Yield a note on the profile of each release that the file names."""
    found: dict[str, MemberPlan] = {}
    for group, spec in scenario.groups.items():
        for plan in _one_of_each(group, spec):
            words = profile_note(plan.client)
            if words is not None:
                found.setdefault(words, plan)
    for words, plan in found.items():
        yield Problem(document.at_value(path_of(document, plan, "client", last=())), f"`client`: {words}", "", NOTE)


def _bounds(scenario: Scenario) -> CoordinatorConfig | None:
    """Return the coordinator's settings, if they are valid."""
    try:
        return coordinator_config(scenario)
    except ValueError:
        return None


def _one_of_each(group: str, spec: GroupSpec) -> Iterator[MemberPlan]:
    """Return one member of each specification with a known client: the others are equal."""
    return (plan for plan in group_plans(group, spec) if plan.number == 1 and _is_client(plan.client))


def _is_client(name: str) -> bool:
    try:
        simulated(name)
    except ValueError:
        return False
    return True


def _of_member(
    plan: MemberPlan, document: Document, folder: Path, broker: CoordinatorConfig | None, *, pulls: bool
) -> Iterator[Problem]:
    path: Path_ = ("groups", plan.group, "members", plan.key)
    try:
        properties, secrets = properties_of(plan, folder), secrets_of(plan, folder)
    except (OSError, ValueError) as error:
        where = path_of(document, plan, "properties-file", last=())
        words = getattr(error, "strerror", None) or str(error)
        message = f"`{plan.spec.properties_file}` cannot be read: {words.lower()}"
        yield Problem(document.at_value(where), message, "write a path relative to the scenario file")
        return
    try:
        settings, notes = client_settings(plan.profile, properties, pulls=pulls)
    except SettingError:
        yield from _impossible(document, plan, properties, pulls=pulls)
        return
    for note in (*notes, *(Note("note", name, SECRET_NOTE) for name in secrets)):
        yield _note(document, plan, note)
    refused = regex_is_refused(plan.spec, settings)
    if refused is not None:
        where = path_of(document, plan, "subscribe-regex", last=())
        yield Problem(document.at_value(where), refused.message, refused.remedy)
    if "partition.assignment.strategy" in properties and plan.spec.assignor is None:
        yield from _assignors(document, plan, settings)
    if broker is not None:
        yield from _session(document, plan, settings, broker, path)


def _impossible(
    document: Document, plan: MemberPlan, properties: dict[str, object], *, pulls: bool
) -> Iterator[Problem]:
    """Yield every impossible setting, one at a time, then the notes on the others."""
    left = dict(properties)
    for _ in properties:
        try:
            _, notes = client_settings(plan.profile, left, pulls=pulls)
        except SettingError as error:
            where, message = place_of(document, plan, error.key), f"`{error.key}` = {error.value}: {error.problem}"
            yield Problem(where, message, error.remedy)
            if left.pop(error.key, None) is None:
                return
        else:
            yield from (_note(document, plan, note) for note in notes)
            return


def _note(document: Document, plan: MemberPlan, note: Note) -> Problem:
    """Return a note as a problem: a misspelt key in the file's own mapping is an error, in pasted text a warning."""
    place = place_of(document, plan, note.key)
    level = WARNING if note.level == "warning" else NOTE
    message, _, remedy = note.message.partition("; ")
    written = any(note.key in spec for spec in _written(document, plan))
    misspelt = "did you mean" in remedy and written
    return Problem(place, _with_key(note.key, message), remedy, ERROR if misspelt else level)


def _written(document: Document, plan: MemberPlan) -> Iterator[Mapping[str, object]]:
    """Yield the mappings of a member's settings in the file itself."""
    group = document.data["groups"][plan.group]
    for section in (group, (group.get("members") or {}).get(plan.key)):
        properties = section.get("properties") if isinstance(section, dict) else None
        if isinstance(properties, dict):
            yield properties


def _with_key(key: str, message: str) -> str:
    return message if key in message else f"`{key}`: {message}"


def _assignors(document: Document, plan: MemberPlan, settings: ConsumerSettings) -> Iterator[Problem]:
    for name in settings.assignors:
        for _, wrong in _assignor((), name):
            place = place_of(document, plan, "partition.assignment.strategy")
            yield Problem(place, wrong.message, wrong.remedy)


def _session(
    document: Document, plan: MemberPlan, settings: ConsumerSettings, broker: CoordinatorConfig, path: Path_
) -> Iterator[Problem]:
    if uses_zookeeper(plan.profile):
        return  # ZooKeeper decides its session
    low, high, session = broker.min_session_timeout_ms, broker.max_session_timeout_ms, settings.session_timeout_ms
    if not low <= session <= high:
        message = f"`session.timeout.ms` {session} is outside the broker's {low} to {high}"
        remedy = "JoinGroup is refused with INVALID_SESSION_TIMEOUT: write a value in this range"
        yield Problem(place_of(document, plan, "session.timeout.ms"), message, remedy, WARNING)
