"""Compare the traces of the library with the recorded hashes: whether a change of the code changed behaviour.

python tools/trace_hashes.py --check                 compares every scene and experiment, seeds 0 to 4; some minutes
python tools/trace_hashes.py --check NAME… --seeds 0   compares these only
python tools/trace_hashes.py --check --against ../other   also shows the first event that differs in that checkout
python tools/trace_hashes.py --write [NAME…]         records the hashes of these, or of all; keeps the other lines
python tools/trace_hashes.py --show NAME SEED        prints the normalised trace, for `diff` between two checkouts

NAME is a scene of the library (`coordinator-moves`), or `experiment:NAME` for the first cell of an experiment. The hash
covers the trace as JSON Lines, normalised: without `run.started`, which has the version in it, and without the
`reason` of the kinds in FREE_TEXT, which is a message for people. Everything else counts: kinds, order, times, causes,
payload keys. A run that fails is hashed up to its end, followed by the class of the error.

Exit codes: 0 all equal, 1 a trace differs, 2 bad input. A trace that changed on purpose is recorded with --write, and
CHANGELOG.md gives the reason.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import lru_cache
from itertools import zip_longest
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import attrs

from groupsim.eventloop.collector import patient_collector
from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.eventloop.trace.sinks import MemorySink, row, to_json
from groupsim.pipeline.experiment import catalogue as experiments
from groupsim.pipeline.experiment import load_experiment
from groupsim.scenarios.language.model import Scenario
from groupsim.scenarios.loading import catalogue as scenes
from groupsim.scenarios.loading.canonical import scenario_from_json
from groupsim.scenarios.loading.load import load_file
from groupsim.scenarios.runtime.runner import run_scenario

ROOT = Path(__file__).resolve().parent.parent
RECORDED = ROOT / "tests" / "data" / "trace-hashes.txt"
SEEDS = (0, 1, 2, 3, 4)
EXPERIMENT = "experiment:"
FREE_TEXT = frozenset({Kind.WARNING, Kind.PROCESS_FAILED, Kind.ACTION_REFUSED})
"""Kinds whose `reason` is a message for people; every other `reason` is a value that code and tests compare."""
HEX_DIGITS = 32  # of a sha256: enough that two traces never share a hash by chance


class One(NamedTuple):
    """One run: a scene or an experiment's first cell, and a seed."""

    name: str
    seed: int

    def __str__(self) -> str:
        return f"{self.name} {self.seed}"


class Digest(NamedTuple):
    """What is recorded of a run: the number of events that were hashed, and the hash in hex."""

    events: int
    hash: str


def known_names() -> tuple[str, ...]:
    """The names of all scenes and of all experiments, sorted."""
    return tuple(sorted((*scenes.names(), *(EXPERIMENT + name for name in experiments.names()))))


@lru_cache(maxsize=8)
def scenario_of(name: str) -> Scenario:
    """Return the scenario of a scene, or of an experiment's first cell, without its expectations.

    Expectations do not change a trace, and to judge them costs as much as the run.
    """
    if name.startswith(EXPERIMENT):
        scenario = scenario_from_json(load_experiment(name.removeprefix(EXPERIMENT)).cells[0].document)
    else:
        scenario = load_file(scenes.find(name))
    return attrs.evolve(scenario, expect=())


def normalised(event: TraceEvent) -> str | None:
    """Return an event as a line of JSON, without free text; None for an event that does not count."""
    if event.kind is Kind.RUN_STARTED:
        return None
    return to_json(row(event._replace(reason=None) if event.kind in FREE_TEXT else event))


def run_lines(scenario: Scenario, seed: int, take: Callable[[str], object]) -> None:
    """Run a scenario and hand each line of its normalised trace to `take`; the last line names a failure, if any."""

    class Lines(MemorySink):
        def __call__(self, event: TraceEvent) -> None:
            line = normalised(event)
            if line is not None:
                take(line)

    try:
        with patient_collector():
            run_scenario(scenario, seed=seed, sinks=[Lines()])
    except Exception as error:
        take(to_json({"failed": type(error).__name__}))


def digest(one: One) -> Digest:
    """Run one and hash its normalised trace."""
    hashed, events = hashlib.sha256(), 0

    def take(line: str) -> None:
        nonlocal events
        events += 1
        hashed.update(line.encode() + b"\n")

    run_lines(scenario_of(one.name), one.seed, take)
    return Digest(events, hashed.hexdigest()[:HEX_DIGITS])


def read_recorded() -> dict[One, Digest]:
    """Read the recorded hashes; none without the file. Raises ValueError for a line in another form."""
    recorded = {}
    lines = RECORDED.read_text("utf-8").splitlines() if RECORDED.exists() else []
    for number, line in enumerate(lines, 1):
        try:
            name, seed, events, hashed = line.split()
            recorded[One(name, int(seed))] = Digest(int(events), hashed)
        except ValueError:
            raise ValueError(
                f"{RECORDED}:{number}: expected `NAME SEED EVENTS HASH`: record it again with --write"
            ) from None
    return recorded


def text_of(recorded: Mapping[One, Digest]) -> str:
    """Return the text of the file: one line for each run, sorted."""
    return "".join(f"{one} {recorded[one].events} {recorded[one].hash}\n" for one in sorted(recorded))


def _timed(one: One) -> tuple[One, Digest, float]:
    began = time.process_time()
    return one, digest(one), time.process_time() - began


def digests(wanted: Sequence[One], jobs: int, progress: bool = False) -> dict[One, Digest]:
    """Hash these runs, in so many processes."""
    found: dict[One, Digest] = {}
    cpu = 0.0
    # A new interpreter for each: a forked one would share what this process has imported or computed before.
    pool = get_context("spawn").Pool(jobs) if jobs > 1 and len(wanted) > 1 else None
    with pool or nullcontext():
        results = pool.imap_unordered(_timed, wanted) if pool else map(_timed, wanted)
        for count, (one, made, seconds) in enumerate(results, 1):
            found[one] = made
            cpu += seconds
            if progress:
                print(f"\r{count} of {len(wanted)} runs, {cpu:.0f} s of CPU", end="", file=sys.stderr, flush=True)
    if progress:
        print(file=sys.stderr)
    return found


def differences(recorded: Mapping[One, Digest], found: Mapping[One, Digest]) -> Iterator[tuple[One, str]]:
    """Each run whose hash is not the recorded one, with what differs."""
    for one in sorted(found):
        if one not in recorded:
            yield one, "not recorded"
        elif recorded[one] != found[one]:
            before, now = recorded[one].events, found[one].events
            yield one, f"{before} events recorded, {now} now" if before != now else f"{now} events, with other content"


def first_difference(here: Iterable[str], there: Iterable[str]) -> str | None:
    """Return the first line that differs between two normalised traces, as each has it; None when they are equal."""
    before = "(the beginning)"
    for number, (ours, theirs) in enumerate(zip_longest(here, there), 1):
        if ours != theirs:
            end = "(the end)"
            return f"    event {number}, after {before}\n      here:  {ours or end}\n      there: {theirs or end}"
        before = ours
    return None


def lines_in(checkout: Path, one: One) -> list[str]:
    """Return a run's normalised trace as another checkout makes it, with that checkout's own environment."""
    python = checkout / ".venv" / "bin" / "python"
    command = [str(python), str(Path("tools") / Path(__file__).name), "--show", one.name, str(one.seed)]
    done = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ValueError(f"{checkout}: {' '.join(command)} failed: {done.stderr.strip().splitlines()[-1:]}")
    return done.stdout.splitlines()


def gone(recorded: Mapping[One, Digest]) -> list[One]:
    """Recorded runs whose scene or experiment does not exist any more."""
    return sorted(one for one in recorded if one.name not in known_names())


def check(wanted: Sequence[One], jobs: int, against: Path | None) -> int:
    """Compare runs with their recorded hashes and print each that differs; returns the exit code."""
    recorded = read_recorded()
    found = digests(wanted, jobs, sys.stderr.isatty())
    wrong = [(one, what) for one, what in differences(recorded, found)]
    wrong += [(one, "recorded, but its scene does not exist: --write removes it") for one in gone(recorded)]
    for one, what in wrong:
        print(f"{one}: {what}")
        if against is not None and one in found:
            here: list[str] = []
            run_lines(scenario_of(one.name), one.seed, here.append)
            print(first_difference(here, lines_in(against, one)) or f"    equal to {against}")
    print(f"{len(found)} traces compared, {len(wrong)} differ" if wrong else f"{len(found)} traces are as recorded")
    return 1 if wrong else 0


def write(wanted: Sequence[One], jobs: int) -> int:
    """Record the hashes of runs, and drop the lines of scenes that do not exist any more."""
    recorded = read_recorded()
    found = digests(wanted, jobs, sys.stderr.isatty())
    changed = [one for one, _ in differences(recorded, found)]
    kept = {one: recorded[one] for one in recorded if one.name in known_names()}
    part = RECORDED.with_suffix(".part")
    part.write_text(text_of({**kept, **found}), "utf-8")
    os.replace(part, RECORDED)
    print(f"{len(found)} traces recorded, {len(changed)} of them new or changed")
    return 0


def show(name: str, seed: int) -> int:
    """Print a run's normalised trace."""
    run_lines(scenario_of(name), seed, print)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    task = parser.add_mutually_exclusive_group(required=True)
    task.add_argument("--check", action="store_true", help="compare with the recorded hashes")
    task.add_argument("--write", action="store_true", help="record the hashes")
    task.add_argument("--show", action="store_true", help="print the normalised trace of NAME with the seed SEED")
    task.add_argument("--list", action="store_true", help="print the names")
    parser.add_argument("names", nargs="*", metavar="NAME", help="what to run; everything without a name")
    parser.add_argument("--seeds", default="", help="seeds, as `0` or `0,3`; 0 to 4 without it")
    parser.add_argument("--jobs", type=int, default=2, help="processes; 2 without it")
    parser.add_argument("--against", type=Path, help="with --check: another checkout, to show the first difference")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Check, record or show."""
    parser = _parser()
    options = parser.parse_args(arguments)
    names, known = list(options.names), known_names()
    if options.list:
        print("\n".join(known))
        return 0
    shown = names.pop() if options.show and len(names) == 2 else None
    if options.show and shown is None:
        parser.error("--show wants a name and a seed: --show coordinator-moves 0")
    for name in names:
        if name not in known:
            parser.error(f"no scene of the library is named {name!r}; experiments are {EXPERIMENT}NAME; see --list")
    try:
        seeds = [int(part) for part in (shown or options.seeds).split(",") if part] or list(SEEDS)
    except ValueError:
        parser.error(f"a seed is a number: {shown or options.seeds!r}")
    if options.against and not (options.against / ".venv" / "bin" / "python").exists():
        parser.error(f"{options.against} has no .venv/bin/python: set that checkout up with `make unit` first")
    try:
        if options.show:
            return show(names[0], seeds[0])
        wanted = [One(name, seed) for name in sorted(set(names) or known) for seed in seeds]
        return check(wanted, options.jobs, options.against) if options.check else write(wanted, options.jobs)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


if __name__ == "__main__":
    sys.exit(main())
