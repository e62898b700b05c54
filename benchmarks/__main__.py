"""All benchmarks of the whole simulator: `python -m benchmarks [--repeat 3] [--json]`.

The event loop alone and the assignors have programs of their own: `benchmarks/kernel.py`, `benchmarks/assignors.py`;
so have ten million events of traces and their analysis, which take minutes: `benchmarks/traces.py`. `--sweeps` adds
what the engines of a sweep cost (`benchmarks/sweeps.py`), which takes some five minutes more. `groupsim serve` beside a
real broker is `benchmarks/serving.py`, the consumer protocol beside the classic one `benchmarks/protocols.py`.
"""

from __future__ import annotations

import argparse
import json

from benchmarks import deploy, heartbeats, lookups, records, sweeps


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure the whole simulator.")
    parser.add_argument("--repeat", type=int, default=3, help="the best of so many runs of each case counts")
    parser.add_argument("--json", action="store_true", help="rows as JSON instead of tables")
    parser.add_argument("--sweeps", action="store_true", help="also the engines of a sweep (needs groupsim[spark])")
    options = parser.parse_args()
    results = {
        "heartbeats": heartbeats.run(repeat=options.repeat, as_json=options.json),
        "records": records.run(repeat=options.repeat, as_json=options.json),
        "deploy": deploy.run(repeat=options.repeat, as_json=options.json),
        "lookups": lookups.run(as_json=options.json),
    }
    if options.sweeps:
        results["sweeps"] = sweeps.run(repeat=options.repeat, as_json=options.json)
    if options.json:
        print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
