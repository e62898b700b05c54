"""The scripts that are recorded from the real broker, and that the simulated one is not compared with yet.

What is not in here has no difference: `tests/conformance/test_replay.py` plays it on the core, and `make conformance`
on `groupsim serve`. To compare a table or a script, delete its line.
"""

from __future__ import annotations

PENDING_SECTIONS: dict[str, str] = {}
"""Table → why none of its scripts is compared yet."""

_TWICE = "after a failed append Kafka's ConsumerGroupDescribe lists the member that was restored twice"

PENDING_SCRIPTS: dict[str, str] = {
    "a-leave-cannot-be-written": _TWICE,
    "an-absence-cannot-be-written": _TWICE,
    "an-acknowledgement-cannot-be-written": _TWICE,
    "quiet-heartbeats-need-no-log": _TWICE,
    "a-pattern-is-loaded": "here the first heartbeat after a load resolves the patterns again",
    "a-group-that-a-refused-join-took-away-is-loaded": "here the group is gone before the partition's next append",
}
"""Script → why it is not compared yet, in a table that is."""
