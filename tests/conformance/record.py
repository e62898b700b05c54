"""Ask the real broker again and keep what it says.

    python -m tests.conformance.record [CASE …] [--long]     all scripts, or those whose name begins so

The broker is fetched and started here, and stopped at the end. Exit code 1 when a script fails on it: then the script
says something of Kafka that is not so.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import trio

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

import kafka_jars
from kafka_broker import KafkaBroker

from tests.conformance.data import save
from tests.conformance.player import SETTINGS, Played, play_all
from tests.conformance.ready import await_ready
from tests.conformance.script import Case
from tests.conformance.scripts import all_cases


def chosen(names: list[str], *, long: bool, nodes: int = 1) -> list[Case]:
    """The cases whose name begins with one of `names`, all of them when there is none."""
    cases = [case for case in all_cases().values() if case.nodes == nodes and (long or not case.long)]
    return [case for case in cases if not names or case.table in names or case.id.startswith(tuple(names))]


def tell(played: Played) -> None:
    """One line for each play that ended."""
    tries = f" (try {played.tries})" if played.tries > 1 else ""
    print(f"FAILED  {played.failure}" if played.failure else f"ok      {played.case.id}{tries}", flush=True)


def main() -> int:
    """Record; 0 when every script did what it says."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.record", description=__doc__)
    parser.add_argument("cases", nargs="*", help="beginnings of names, or tables; all when none is given")
    parser.add_argument("--long", action="store_true", help="those too that take more than 30 s")
    parser.add_argument("--broker", help="host:port of a broker that runs already, with the same settings")
    asked = parser.parse_args()
    cases = chosen(asked.cases, long=asked.long)
    if asked.broker:
        results = _play(cases, asked.broker)
    else:
        with KafkaBroker(1, SETTINGS) as broker:
            results = _play(cases, broker.bootstrap)
    every = all_cases().values()
    for table in {case.table for case in cases}:
        good = [one for one in results.values() if one.case.table == table and one.failure is None]
        save(table, kafka_jars.VERSION, good, keep={case.id for case in every if case.table == table})
    failed = [one for one in results.values() if one.failure]
    print(f"{len(results) - len(failed)} recorded, {len(failed)} failed")
    return 1 if failed else 0


def _play(cases: list[Case], address: str) -> dict[str, Played]:
    host, _, port = address.rpartition(":")

    async def ready_and_play() -> dict[str, Played]:
        await await_ready(host, int(port))
        return await play_all(cases, host, int(port), tell)

    return trio.run(ready_and_play)


if __name__ == "__main__":
    sys.exit(main())
