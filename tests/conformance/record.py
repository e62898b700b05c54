"""Ask the real broker again and keep what it says.

    python -m tests.conformance.record [SCRIPT …] [--long]     all scripts, or tables, or those whose name begins so

The broker is fetched and started here, and stopped at the end. Exit code 1 when a script fails on it: then the script
says something of Kafka that is not so.
"""

from __future__ import annotations

import argparse
import sys

from tests.conformance.__main__ import chosen, on_broker
from tests.conformance.data import save
from tests.conformance.live import Live, addresses_of, ended_in_order, real
from tests.conformance.player import KINDS, SEVERAL, Played, settings_for
from tests.conformance.scripts import all_cases
from tests.conformance.servers import BEFORE, VERSION

BROKERS = (*((1, kind) for kind in KINDS), *((3, kind) for kind in SEVERAL))
"""The brokers that are started: how many nodes, and of which kind."""


def main() -> int:
    """Record; 0 when every script did what it says."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.record")
    parser.add_argument("cases", nargs="*", help="tables, or beginnings of names; all when none is given")
    parser.add_argument("--long", action="store_true", help="those too that take more than 30 s")
    parser.add_argument("--broker", help="host:port of a broker that runs already, with the same settings")
    asked = parser.parse_args()
    ended_in_order()
    cases = chosen(asked.cases, long=asked.long)
    results: dict[str, Played] = {}
    for nodes, kind in BROKERS:
        here = [case for case in cases if (case.nodes, case.kind) == (nodes, kind)]
        if here and asked.broker and nodes == 1 and not kind:
            results |= on_broker(here, Live(addresses_of(asked.broker)))
        elif here and not asked.broker:
            with real(settings_for(nodes, kind), nodes, handled=here[0].handled) as live:
                results |= on_broker(here, live)
    every = all_cases().values()
    for table in {one.case.table for one in results.values()}:
        good = [one for one in results.values() if one.case.table == table and one.failure is None]
        there = [case for case in every if case.table == table]
        release = BEFORE if any(one.case.kind == "scala" for one in good) else VERSION
        save(table, release, good, keep={case.id for case in there})
    failed = [one for one in results.values() if one.failure]
    print(f"{len(results) - len(failed)} recorded, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
