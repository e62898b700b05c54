"""The scripts that are recorded from the real broker, and that the simulated one is not compared with yet.

What is not in here has no difference: `tests/conformance/test_replay.py` plays it on the core, and `make conformance`
on `groupsim serve`. To compare a table or a script, delete its line.
"""

from __future__ import annotations

PENDING_SECTIONS: dict[str, str] = {}
"""Table → why none of its scripts is compared yet."""

PENDING_SCRIPTS: dict[str, str] = {}
"""Script → why it is not compared yet, in a table that is."""
