"""The tables of scripts that are recorded from the real broker, and that the simulated one is not compared with yet.

A table that is not in here has no difference: `tests/conformance/test_replay.py` plays it on the core, and
`make conformance` on `groupsim serve`. To compare a table, delete its line.
"""

from __future__ import annotations

_HEARTBEAT = "the coordinator does not answer ConsumerGroupHeartbeat yet"

PENDING_SECTIONS: dict[str, str] = {
    "consumer_batching": _HEARTBEAT,
    "consumer_timers": _HEARTBEAT,
    "consumer_revocations": _HEARTBEAT,
    "consumer_classic_requests": _HEARTBEAT,
    "consumer_offsets": _HEARTBEAT,
    "consumer_conversions": _HEARTBEAT,
    "consumer_policy_disabled": _HEARTBEAT,
    "consumer_policy_upgrade": _HEARTBEAT,
    "consumer_policy_downgrade": _HEARTBEAT,
    "consumer_guarded": _HEARTBEAT,
    "consumer_alone": _HEARTBEAT,
    "consumer_transactions": _HEARTBEAT,
    "consumer_classic_timers": _HEARTBEAT,
    "consumer_expiries": _HEARTBEAT,
    "consumer_group_configs": _HEARTBEAT,
    "consumer_moves": _HEARTBEAT,
    "consumer_appends": _HEARTBEAT,
}
"""Table → why it is not compared yet."""
