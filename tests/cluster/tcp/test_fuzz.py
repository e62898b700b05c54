"""The short form of `benchmarks/hostile.py`: frames made from Kafka's schemas, and mutated."""

from __future__ import annotations

import os

from benchmarks.hostile import attack

FRAMES = int(os.environ.get("HOSTILE_FRAMES", "2000"))


def test_a_fuzzed_broker_lives_and_serves_others() -> None:
    """Under frames of every kind and mutations of them the broker lives, and a witness's heartbeats are answered."""
    outcome = attack(FRAMES)
    assert outcome.held, outcome
    assert outcome.taken >= FRAMES
    assert outcome.refused > 0
    assert outcome.beats > 0
    assert outcome.memory_mb[1] < 500
