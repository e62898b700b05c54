"""Running a scenario: one virtual loop, one cluster, the timeline, the trace, and at the end the judgement.

`run_scenario` is synchronous and self-contained: the same scenario and seed give the same events, to the byte, in any
process. What the trace cannot tell (a group's timers and purgatory at an instant) can be asked for as snapshots.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from importlib import metadata
from pathlib import Path
from typing import Any

from attrs import field, frozen

from groupsim.coordinator.base.snapshot import GroupSnapshot
from groupsim.eventloop.errors import EventLoopError
from groupsim.eventloop.interface import EventLoop
from groupsim.eventloop.trace.events import SCHEMA_VERSION, Kind, TraceEvent
from groupsim.eventloop.trace.sinks import Sink
from groupsim.eventloop.trace.trace import NORMAL, Level, Trace
from groupsim.eventloop.units import show_us
from groupsim.eventloop.virtual import VirtualLoop
from groupsim.members.failures import PluginError
from groupsim.scenarios.expectations.evidence import PART, Evidence
from groupsim.scenarios.language.document import STANDARD_INPUT
from groupsim.scenarios.language.model import Expectation, Scenario, Step
from groupsim.scenarios.language.problems import Place
from groupsim.scenarios.language.registry import Deed, Finding
from groupsim.scenarios.plans.fleets import for_each, judged
from groupsim.scenarios.plans.subscriptions import topics_of
from groupsim.scenarios.runtime.interrupts import InParts
from groupsim.scenarios.runtime.no_op_steps import missed
from groupsim.scenarios.runtime.stage import Stage
from groupsim.scenarios.steps.describe_step import deed_data, deed_words
from groupsim.scenarios.story import Story, tell
from groupsim.scenarios.story.builder import StoryBuilder
from groupsim.scenarios.story.records.log_growth import Growth

WELL, EXPECTATION_FAILED, INTERRUPTED = 0, 1, 130
REPEAT = "repeat it with: "  # begins the note of an error that tells how


class StepError(EventLoopError):
    """A step of the timeline could not be carried out: where it stands, when it was due, why."""


@frozen
class Judged:
    """An expectation and what was found."""

    expectation: Expectation
    finding: Finding
    file: str = ""

    @property
    def holds(self) -> bool:
        """Whether it holds."""
        return self.finding.holds

    @property
    def place(self) -> Place:
        """Where the expectation stands in the file."""
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

    events         the trace, unless the run was asked not to keep it
    story          what happened
    checks         the expectations, judged; `failed`: those that do not hold
    exit_code      0, or 1 when an expectation failed
    scenario, seed    what was run
    told           how many events there were
    snapshots      the groups at the instants that were asked for, by microsecond and name
    telling        what made the story while the run went; None where its events were kept, and nothing is expected
    """

    events: list[TraceEvent] = field(repr=False)
    checks: tuple[Judged, ...]
    exit_code: int
    seed: int
    scenario: Scenario = field(repr=False)
    told: int
    snapshots: Mapping[int, Mapping[str, GroupSnapshot | None]] = field(factory=dict, repr=False)
    telling: StoryBuilder | None = field(default=None, repr=False)

    @property
    def story(self) -> Story:
        """The story of the run; made from the trace each time, where that was kept and nothing is expected."""
        return tell(self.events) if self.telling is None else self.telling.story

    @property
    def failed(self) -> tuple[Judged, ...]:
        """The expectations that do not hold."""
        return tuple(one for one in self.checks if not one.holds)


class Interrupted(KeyboardInterrupt):
    """Ctrl-C ended a run; `run` is what happened until then, and none of its expectations is judged."""

    def __init__(self, run: Run, by: KeyboardInterrupt) -> None:
        super().__init__(*by.args)
        self.run = run
        for note in getattr(by, "__notes__", ()):
            self.add_note(note)


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
    """Run a scenario to its end and judge it.

    `sinks` get every event as it happens; they are closed at the end, or aborted when the run fails, so that nothing
    half-written stays. Events of the kinds in `counted` are only counted, for who reads none of them. `snapshots_at`
    are instants (µs) at which every group is looked at, `looks` are instants with what to do there, which must change
    nothing. With a `data_dir` the logs of a replicated cluster are files below it, one folder for each broker.

    Without `keep_events` the run takes as much memory after a day as after an hour: its story is made while it goes,
    and `events` stays empty. Raises PluginError when a user's assignor fails (unless `plugin-errors: as-kafka`),
    StepError, Interrupted after ctrl-C, and the loop's own errors.
    """
    events: list[TraceEvent] = []
    stages: list[Stage] = []
    growth = Growth()
    checks = [one for expected in scenario.expect for one in for_each(expected.check, scenario.fleets)]
    telling = StoryBuilder(growth)
    evidence = Evidence.watching(checks, telling) if checks else None
    reader = InParts(telling.read if evidence is None else evidence.read, PART)
    keep: Callable[[TraceEvent], object] = events.append if keep_events else reader
    trace = Trace(trace_level, counted=counted)
    trace.subscribe(keep)
    for sink in sinks:
        trace.subscribe(sink)
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
        found = _judge(scenario, evidence)
    code = WELL if all(one.holds for one in found) else EXPECTATION_FAILED
    by = telling if checks or not keep_events else None
    return Run(events, found, code, seed, scenario, trace.total, snapshots, by)


def _judge(scenario: Scenario, evidence: Evidence) -> tuple[Judged, ...]:
    """Judge a scenario's expectations."""
    return tuple(Judged(one, judged(one.check, evidence, scenario.fleets), scenario.file) for one in scenario.expect)


def _follow(growth: Growth, stages: list[Stage], stage: Stage) -> None:
    """The run has begun: its logs say from now on how they grow."""
    data = stage.cluster.data
    growth.listed, growth.known = None if data is None else data.growth, True
    stages.append(stage)


def _ends(stage: Stage, trace: Trace, now_us: int) -> Iterator[TraceEvent]:
    """The events that make a trace of what happened so far one of a finished run."""
    for number, (kind, payload) in enumerate(((Kind.LOG_ENDS, _log_ends(stage)), (Kind.RUN_ENDED, _counted(stage)))):
        yield TraceEvent(trace.total + 1 + number, now_us, kind, payload=payload)


def repeat_command(scenario: Scenario, seed: int) -> str:
    """The command that runs the same again."""
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
    """What is counted by process rather than listed: quiet heartbeats, and where there are brokers to ask, fetches."""
    consumers = {actor.name: actor.consumer for actor in stage.actors_by_name.values()}
    fetches = {name: found._asdict() for name, one in consumers.items() if (found := one.fetches) is not None}
    beats = {name: one.heartbeats for name, one in consumers.items()}
    return {"heartbeats": beats, **({"fetches": fetches} if fetches else {})}


def _log_ends(stage: Stage) -> dict[str, Any]:
    """Where the logs end; of counted ones, whose records no event tells of, also what made them grow."""
    data = stage.cluster.data
    told: dict[str, Any] = {"ends": stage.cluster.log_ends()}
    return told if data is None else {**told, "growth": data.growth}


def _look(at_us: int, snapshots: dict[int, dict[str, GroupSnapshot | None]], stage: Stage) -> None:
    snapshots[at_us] = {group: stage.cluster.snapshot(group) for group in stage.scenario.groups}


def _schedule(stage: Stage, step: Step, at_us: int, number: int) -> None:
    """Plan a step, and with it its next repetition."""

    def due(_: Any) -> None:
        _do(stage, step)
        if step.every is not None and (step.times is None or number < step.times):
            _schedule(stage, step, at_us + step.every, number + 1)

    if at_us <= stage.scenario.run_for:
        stage.loop.call_at(at_us, due)


def _do(stage: Stage, step: Step) -> None:
    """Carry a step out; everything it brings about has its action for cause."""
    trace, deed = stage.loop.trace, step.deed
    each = for_each(deed, stage.scenario.fleets)
    nobody = [missed(one, stage) for one in each]
    if not deed.FAULT:
        hosts = stage.hosts(getattr(deed, "member", ())) if _names_processes(deed) else []
        host = hosts[0] if len(hosts) == 1 else None
        group = getattr(each[0], "group", None) if len(each) == 1 else None
        seq = trace.emit(Kind.ACTION, host=host, group=group, reason=deed_words(deed), payload=deed_data(deed))
        trace.begin(seq)
    if nobody and all(nobody):
        trace.emit(Kind.WARNING, reason=nobody[0])
    try:
        for one in each:
            one.perform(stage)
    except (ValueError, LookupError) as error:
        if not deed.FAULT:
            trace.emit(Kind.ACTION_REFUSED, reason=str(error), payload={"action": deed_words(deed)})
        place = f"{stage.scenario.file}:{step.line}: " if step.line else ""
        raise StepError(f"{place}step `{deed_words(deed)}` at {show_us(stage.loop.now_us)}: {error}") from error


def _names_processes(deed: Deed) -> bool:
    return isinstance(getattr(deed, "member", None), tuple)


def introduction(scenario: Scenario, seed: int) -> dict[str, Any]:
    """What `run.started` says: everything an expectation needs to know that is not an event."""
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
    """The version of this package; looked up once, because it takes reading a file."""
    return metadata.version("groupsim")
