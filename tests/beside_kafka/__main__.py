"""Random walks on Kafka's own shard and on the core: `python -m tests.beside_kafka --walks 200 --profile mixed`.

Prints each walk that differs, and how many operations were compared. Needs Java; the jars are fetched once.
"""

from __future__ import annotations

import argparse
import sys

from tests.beside_kafka.kafka_shard import KafkaShard
from tests.beside_kafka.play import Differs
from tests.beside_kafka.walks import PROFILES, Walk


def main() -> int:
    """Play walks; return 1 when one differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.beside_kafka")
    parser.add_argument("--profile", choices=PROFILES, action="append", help="all when none is given")
    parser.add_argument("--walks", type=int, default=50, help="of each profile")
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--failing", type=float, default=0.03, help="the share of requests whose append fails")
    given = parser.parse_args()
    differ = 0
    with KafkaShard() as kafka:
        for profile in given.profile or PROFILES:
            operations = 0
            for seed in range(given.first, given.first + given.walks):
                walk = Walk(kafka, profile, seed, given.failing)
                try:
                    walk.go(given.steps)
                except Differs as found:
                    differ += 1
                    print(f"{profile}, seed {seed}, {dict(walk.properties)}\n{found}\n", flush=True)
                operations += walk.play.operations
            print(f"{profile}: {given.walks} walks, {operations} requests", flush=True)
    print(f"{differ} differ")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
