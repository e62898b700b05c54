"""A migration of twenty real processes under load, beside the same story in virtual time.

    python -m tests.interop.migration [--runs 5] [--of serve,kafka,virtual] [--keep FILE]

Ten Java consumers (in one JVM) and ten processes with confluent-kafka, half of each static, roll from
`group.protocol=classic` to `consumer` and back (`story.py`), on one broker of `groupsim serve` and on one of Kafka. A
run of each goes on at the same time, so that a slow moment of the machine strikes both. The scenario in virtual time
has a seed for each run.

For each the table has the longest time in which a partition had no owner, as median with the least and the most of the
runs; the same of partitions that a dynamic pod released, for which no restart was waited; the times of all partitions
together; records that were acknowledged and never consumed; pods that died. Exit code 1 when a record is lost, a pod is
dead, or the prediction of the longest standstill is off by more than 15 % of what real processes needed on either
server. A run takes six minutes. `--keep` writes every run's figures as JSON, and begins with those that the file has.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from statistics import median

import attrs
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tools"))

from tests.interop.clients import JAVA
from tests.interop.migration import story
from tests.interop.migration.roll import rolled
from tests.interop.migration.simulated import predicted
from tests.interop.migration.story import Found
from tests.interop.peers import Peer, started

SERVE, KAFKA, VIRTUAL = "serve", "kafka", "virtual"
PEERS = {SERVE: "groupsim", KAFKA: "kafka"}
NAMES = {SERVE: "groupsim serve", KAFKA: "Kafka", VIRTUAL: "virtual time"}
MEASURES = {"longest": "longest", "moved": "of a dynamic pod's", "total": "all partitions"}.items()
WITHIN = 0.15

Runs = dict[str, list[Found]]


def play(kinds: Sequence[str], runs: int, before: Runs, keep: Path | None) -> Runs:
    """Play what is missing of so many runs of each kind. Raises as `roll.rolled`, `kafka_jars.Unavailable`."""
    found: Runs = {kind: list(before.get(kind, ())) for kind in kinds}
    with ExitStack() as stack:
        lacking = [kind for kind in kinds if kind in PEERS and len(found[kind]) < runs]
        peers = {
            kind: stack.enter_context(started(PEERS[kind], story.BROKERS | story.PATIENT_CONTROLLER, 1))
            for kind in lacking
        }
        for number in range(runs):
            missing = [kind for kind in kinds if len(found[kind]) <= number]
            with ThreadPoolExecutor(len(PEERS)) as both:
                begun = {
                    kind: both.submit(_on_a_server, peers[kind], kind, number) for kind in missing if kind in peers
                }
            for kind in missing:
                one = begun[kind].result() if kind in begun else predicted(number)
                found[kind].append(one)
                _said(kind, number, str(one))
            if keep is not None and missing:
                keep.write_text(json.dumps(_as_json(before | found), indent=1) + "\n", "utf-8")
    return found


def _on_a_server(peer: Peer, kind: str, number: int) -> Found:
    with tempfile.TemporaryDirectory(prefix="groupsim-migration-") as folder:
        return rolled(peer, Path(folder), number, lambda what: _said(kind, number, what))


def _said(kind: str, number: int, what: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {NAMES[kind]}, run {number + 1}: {what}", file=sys.stderr, flush=True)


def _as_json(found: Mapping[str, Sequence[Found]]) -> dict[str, list[dict[str, object]]]:
    return {kind: [attrs.asdict(one) for one in many] for kind, many in found.items()}


def kept(path: Path | None) -> Runs:
    """The runs that a file has; none when there is no file."""
    if path is None or not path.exists():
        return {}
    rows = json.loads(path.read_text("utf-8"))
    return {kind: [Found(**{**row, "dead": tuple(row["dead"])}) for row in many] for kind, many in rows.items()}


def spread(values: Sequence[float], places: int = 2) -> str:
    """Median, least and most, as `3.21 s (3.10–3.40)`."""
    return f"{median(values):.{places}f} s ({min(values):.{places}f}–{max(values):.{places}f})"


def rows_of(found: Runs) -> list[tuple[str, ...]]:
    """The cells of the table, a row for each kind."""
    return [
        (
            NAMES[kind],
            str(len(many)),
            spread([one.longest for one in many]),
            spread([one.moved for one in many]),
            spread([one.total for one in many], 0),
            str(sum(one.lost for one in many)),
            str(sum(len(one.dead) for one in many)),
        )
        for kind, many in found.items()
    ]


def misses(found: Runs) -> list[str]:
    """What is not as it should be, one sentence each."""
    wrong = [
        f"{NAMES[kind]}: {one.lost} lost, dead: {one.dead}"
        for kind, many in found.items()
        for one in many
        if one.lost or one.dead
    ]
    longest = {kind: median(one.longest for one in many) for kind, many in found.items()}
    for kind in (SERVE, KAFKA):
        if kind in longest and VIRTUAL in longest and abs(longest[VIRTUAL] / longest[kind] - 1) > WITHIN:
            wrong += [f"virtual time says {longest[VIRTUAL]:.2f} s, {NAMES[kind]} {longest[kind]:.2f} s"]
    return wrong


def compared(found: Runs) -> list[str]:
    """How far the medians of one are from those of another, a line for each two."""
    return [
        f"{NAMES[one]} beside {NAMES[other]}: "
        + ", ".join(
            f"{what} {_median(found[one], name) / _median(found[other], name) - 1:+.1%}" for name, what in MEASURES
        )
        for one, other in ((SERVE, KAFKA), (VIRTUAL, SERVE), (VIRTUAL, KAFKA))
        if one in found and other in found
    ]


def _median(many: Sequence[Found], name: str) -> float:
    return median(getattr(one, name) for one in many)


def main() -> int:
    """Play, print the table, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--of", default=f"{SERVE},{KAFKA},{VIRTUAL}", help="what to play, with commas")
    parser.add_argument("--keep", type=Path, help="a file of JSON with the figures of every run")
    asked = parser.parse_args()
    JAVA.command()  # compiles it, once
    found = play(asked.of.split(","), asked.runs, kept(asked.keep), asked.keep)
    grid = Table(title="Twenty pods roll to the consumer protocol and back", title_justify="left")
    for number, head in enumerate(
        ("", "runs", "longest without an owner", "of a dynamic pod's", "all partitions", "lost", "dead")
    ):
        grid.add_column(head, justify="left" if not number else "right")
    for row in rows_of(found):
        grid.add_row(*row)
    Console().print(grid)
    wrong = misses(found)
    for line in (*compared(found), *wrong):
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
