"""Run a scenario: one virtual loop, one cluster, the timeline, the trace, and the expectations.

`run_scenario` is synchronous and self-contained: the same scenario and seed give the same events, to the byte, in any
process. Snapshots add what the trace lacks: a group's timers and purgatory at an instant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from importlib import metadata
from pathlib import Path
from typing import Any

from attrs import field

from groupsim.coordinator.base.snapshot import GroupSnapshot
from groupsim.eventloop.collector import patient_collector
from groupsim.eventloop.errors import EventLoopError
from groupsim.eventloop.interface import EventLoop
from groupsim.eventloop.trace.events import SCHEMA_VERSION, Kind, TraceEvent
from groupsim.eventloop.trace.sinks import Sink
from groupsim.eventloop.trace.trace import NORMAL, Level, Trace
from groupsim.eventloop.units import show_us
from groupsim.eventloop.virtual import VirtualLoop
from groupsim.members.failures import PluginError
from groupsim.protocol.values import frozen
from groupsim.scenarios.expectations.evidence import PART, Evidence
from groupsim.scenarios.language.document import STANDARD_INPUT
from groupsim.scenarios.language.model import Expectation, Scenario, Step
from groupsim.scenarios.language.problems import Place
from groupsim.scenarios.language.registry import Finding, StepAction
from groupsim.scenarios.plans.fleets import for_each, judged
from groupsim.scenarios.plans.subscriptions import topics_of
from groupsim.scenarios.runtime.interrupts import InParts
from groupsim.scenarios.runtime.no_op_steps import no_target
from groupsim.scenarios.runtime.stage import Stage
from groupsim.scenarios.steps.describe_step import action_payload, describe_action
from groupsim.scenarios.story import Story, tell
from groupsim.scenarios.story.builder import StoryBuilder
from groupsim.scenarios.story.records.log_growth import Growth

WELL, EXPECTATION_FAILED, INTERRUPTED = 0, 1, 130
REPEAT = "repeat it with: "  # begins the note of an error with the command to repeat the run


class StepError(EventLoopError):
    """A step of the timeline failed; the message has its place, time and reason."""


@frozen
class Judged:
    """An expectation and its finding."""

    expectation: Expectation
    finding: Finding
    file: str = ""

    @property
    def holds(self) -> bool:
        """Whether it holds."""
        return self.finding.holds

    @property
    def place(self) -> Place:
        """The place of the expectation in the file."""
        return Place(self.file, self.expectation.line, 0) if self.expectation.line else Place(self.file)

    def __str__(self) -> str:
        mark = "ok" if self.holds else "FAILED"
        at = f" at {show_us(self.finding.t_us)}" if self.finding.t_us is not None else ""
        seqs = f" (event {', '.join(map(str, self.finding.seqs))})" if self.finding.seqs else ""
        why = f" [{self.expectation.because}]" if self.expectation.because else ""
        return f"{mark}: {self.finding.expected}; found {self.finding.found}{at}{seqs}{why}"


@frozen
class Run:
    """A finished run.

    events         the trace, empty without `keep_events`
    story          the narrative of the run
    checks         the judged expectations; `failed`: those that do not hold
    exit_code      0, or 1 when an expectation failed
    scenario, seed    the input of the run
    snapshots      the groups at the requested instants, by microsecond and name
    telling        maker of the story; None if the events are kept and there is no expectation
    """

    events: list[TraceEvent] = field(repr=False)
    checks: tuple[Judged, ...]
    exit_code: int
    seed: int
    scenario: Scenario = field(repr=False)
    told: int  # the number of events
    snapshots: Mapping[int, Mapping[str, GroupSnapshot | None]] = field(factory=dict, repr=False)
    telling: StoryBuilder | None = field(default=None, repr=False)

    @property
    def story(self) -> Story:
        """The story of the run, made from the trace at each access if the events are kept without expectations."""
        return tell(self.events) if self.telling is None else self.telling.story

    @property
    def failed(self) -> tuple[Judged, ...]:
        """The expectations that do not hold."""
        return tuple(one for one in self.checks if not one.holds)

    def _repr_html_(self) -> str:
        """What a notebook shows: the headline, the lanes, and the expectations."""
        from groupsim.scenarios.pictures.notebook import story_html

        return story_html(self.story, [(one.holds, one.finding.expected, one.finding.found) for one in self.checks])


class Interrupted(KeyboardInterrupt):
    """Ctrl-C ended a run; `run` is the part until then, without judged expectations."""

    def __init__(self, run: Run, by: KeyboardInterrupt) -> None:
        super().__init__(*by.args)
        self.run = run
        for note in getattr(by, "__notes__", ()):
            self.add_note(note)


@patient_collector()  # around the frame, too: at its end the cycle of the run is garbage, and one collection frees it
def run_scenario(
    scenario: Scenario,
    *,
    seed: int = 0,
    sinks: Sequence[Sink] = (),
    trace_level: Level = NORMAL,
    counted: Iterable[Kind] = (),
    snapshots_at: Sequence[int] = (),
    looks: Sequence[tuple[int, Callable[[Stage], None]]] = (),
    data_dir: Path | None = None,
    keep_events: bool = True,
) -> Run:
    """Run a scenario to its end and judge its expectations.

    `sinks` get every event as it is emitted; they are closed at the end, or aborted if the run fails, so that no
    half-written file stays. Events of the kinds in `counted` are only counted, not recorded. `snapshots_at`
    are instants (µs) of snapshots of every group, `looks` are instants with callbacks, which must not change
    the run. With a `data_dir` the logs of a replicated cluster are files below it, one folder for each broker.

    Without `keep_events` the memory does not grow with the length of the run: the story is made during the run,
    and `events` stays empty. Raises PluginError if a user's assignor fails (unless `plugin-errors: as-kafka`),
    StepError, Interrupted after ctrl-C, and the loop's own errors.
    """
    events: list[TraceEvent] = []
    stages: list[Stage] = []
    growth = Growth()
    checks = [one for expected in scenario.expect for one in for_each(expected.check, scenario.fleets)]
    telling = StoryBuilder(growth)
    evidence = Evidence.watching(checks, telling) if checks else None
    invariants, wanted = None, [name for one in checks for name in one.invariants()]
    reader = InParts(telling.read if evidence is None else evidence.read, PART)
    keep: Callable[[TraceEvent], object] = events.append if keep_events else reader
    trace = Trace(trace_level, counted=counted)
    trace.subscribe(keep)
    for sink in sinks:
        trace.subscribe(sink)
    if wanted and evidence is not None:
        from groupsim.scenarios.invariants.watch import Invariants  # most runs need none of them

        evidence.invariants = invariants = Invariants(wanted, trace, seed)
    loop = VirtualLoop(seed, trace)
    snapshots: dict[int, dict[str, GroupSnapshot | None]] = {}

    async def main(loop: EventLoop) -> None:
        snap = [(at_us, partial(_look, at_us, snapshots)) for at_us in snapshots_at]
        with reader.guarded():
            await _perform(loop, scenario, seed, (*snap, *looks), data_dir, partial(_follow, growth, stages))

    try:
        loop.run(main)
    except BaseException as error:
        for sink in sinks:
            sink.abort()
        if isinstance(error, PluginError):
            error.add_note(f"{REPEAT}{repeat_command(scenario, seed)}")
        if not isinstance(error, KeyboardInterrupt) or not stages:
            raise
        for event in _ends(stages[0], trace, loop.now_us):
            keep(event)
        reader.flush()
        by = None if keep_events else telling
        raise Interrupted(Run(events, (), INTERRUPTED, seed, scenario, trace.total, snapshots, by), error) from None
    trace.close()
    for sink in sinks:
        sink.close()
    reader.flush()
    found: tuple[Judged, ...] = ()
    if evidence is not None:
        evidence.read(events)
        if invariants is not None:
            invariants.end()
        found = _judge(scenario, evidence)
    code = WELL if all(one.holds for one in found) else EXPECTATION_FAILED
    by = telling if checks or not keep_events else None
    return Run(events, found, code, seed, scenario, trace.total, snapshots, by)


def _judge(scenario: Scenario, evidence: Evidence) -> tuple[Judged, ...]:
    """Judge a scenario's expectations."""
    return tuple(Judged(one, judged(one.check, evidence, scenario.fleets), scenario.file) for one in scenario.expect)


def _follow(growth: Growth, stages: list[Stage], stage: Stage) -> None:
    """Note that the run has begun; from now on its logs list how they grow."""
    data = stage.cluster.data
    growth.listed, growth.known = None if data is None else data.growth, True
    stages.append(stage)


def _ends(stage: Stage, trace: Trace, now_us: int) -> Iterator[TraceEvent]:
    """Yield the events that end the trace of an interrupted run."""
    for number, (kind, payload) in enumerate(((Kind.LOG_ENDS, _log_ends(stage)), (Kind.RUN_ENDED, _counted(stage)))):
        yield TraceEvent(trace.total + 1 + number, now_us, kind, payload=payload)


def repeat_command(scenario: Scenario, seed: int) -> str:
    """Return the command that repeats the run."""
    source = "-" if scenario.file == str(STANDARD_INPUT) else scenario.file or scenario.name
    return f"groupsim run {source} --seed {seed}"


async def _perform(
    loop: EventLoop,
    scenario: Scenario,
    seed: int,
    looks: Sequence[tuple[int, Callable[[Stage], None]]],
    data_dir: Path | None,
    begun: Callable[[Stage], None],
) -> None:
    trace = loop.trace
    trace.emit(Kind.RUN_STARTED, payload=introduction(scenario, seed))
    stage = Stage(loop, scenario, data_dir)
    stage.begin()
    begun(stage)
    for place, step in enumerate(scenario.timeline):
        if step.at != "never":
            _schedule(stage, step, step.at + stage.shifts.get(place, 0), 1)
    for at_us, look in looks:
        loop.call_at(at_us, look, stage)
    await loop.sleep(scenario.run_for)
    trace.cause = 0
    trace.emit(Kind.LOG_ENDS, payload=_log_ends(stage))
    trace.emit(Kind.RUN_ENDED, payload=_counted(stage))
    stage.close()


def _counted(stage: Stage) -> dict[str, Any]:
    """Return what is counted by process rather than traced: quiet heartbeats, and fetches from brokers."""
    consumers = {actor.name: actor.consumer for actor in stage.actors_by_name.values()}
    fetches = {name: found._asdict() for name, one in consumers.items() if (found := one.fetches) is not None}
    beats = {name: one.heartbeats for name, one in consumers.items()}
    return {"heartbeats": beats, **({"fetches": fetches} if fetches else {})}


def _log_ends(stage: Stage) -> dict[str, Any]:
    """Return the log ends; for counted logs, whose records have no events, also how they grew."""
    data = stage.cluster.data
    found: dict[str, Any] = {"ends": stage.cluster.log_ends()}
    return found if data is None else {**found, "growth": data.growth}


def _look(at_us: int, snapshots: dict[int, dict[str, GroupSnapshot | None]], stage: Stage) -> None:
    snapshots[at_us] = {group: stage.cluster.snapshot(group) for group in stage.scenario.groups}


def _schedule(stage: Stage, step: Step, at_us: int, number: int) -> None:
    """Schedule a step, and at each repetition the next one."""

    def due(_: Any) -> None:
        _do(stage, step)
        if step.every is not None and (step.times is None or number < step.times):
            _schedule(stage, step, at_us + step.every, number + 1)

    if at_us <= stage.scenario.run_for:
        stage.loop.call_at(at_us, due)


def _do(stage: Stage, step: Step) -> None:
    """Perform a step; its event is the cause of all that follows from it."""
    trace, action = stage.loop.trace, step.action
    each = for_each(action, stage.scenario.fleets)
    no_targets = [no_target(one, stage) for one in each]
    if not action.FAULT:
        hosts = stage.hosts(getattr(action, "member", ())) if _names_processes(action) else []
        host = hosts[0] if len(hosts) == 1 else None
        group = getattr(each[0], "group", None) if len(each) == 1 else None
        seq = trace.emit(
            Kind.ACTION, host=host, group=group, reason=describe_action(action), payload=action_payload(action)
        )
        trace.begin(seq)
    if no_targets and all(no_targets):
        trace.emit(Kind.WARNING, reason=no_targets[0])
    try:
        for one in each:
            one.perform(stage)
    except (ValueError, LookupError) as error:
        if not action.FAULT:
            trace.emit(Kind.ACTION_REFUSED, reason=str(error), payload={"action": describe_action(action)})
        place = f"{stage.scenario.file}:{step.line}: " if step.line else ""
        raise StepError(f"{place}step `{describe_action(action)}` at {show_us(stage.loop.now_us)}: {error}") from error


def _names_processes(action: StepAction) -> bool:
    return isinstance(getattr(action, "member", None), tuple)


def introduction(scenario: Scenario, seed: int) -> dict[str, Any]:
    """Return the payload of `run.started`: what expectations need to know beside the events."""
    return {
        "scenario": scenario.name,
        "title": scenario.title,
        "seed": seed,
        "schema": SCHEMA_VERSION,
        "version": _version(),
        "broker": scenario.broker.version,
        "topics": {name: topic.partitions for name, topic in scenario.topics.items()},
        "groups": {name: topics_of(scenario, name) for name in scenario.groups},
    }


@cache
def _version() -> str:
    """Return the version of this package; cached, because the lookup reads a file."""
    return metadata.version("groupsim")
