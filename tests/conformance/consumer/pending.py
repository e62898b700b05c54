"""The scripts that are recorded from the real broker, and that the simulated one is not compared with yet.

What is not in here has no difference: `tests/conformance/test_replay.py` plays it on the core, and `make conformance`
on `groupsim serve`. To compare a table or a script, delete its line.
"""

from __future__ import annotations

_CLASSIC = "classic members of a consumer group are refused until they are built"

PENDING_SECTIONS: dict[str, str] = {
    "consumer_classic_requests": _CLASSIC,
    "consumer_classic_timers": _CLASSIC,
    "consumer_expiries": _CLASSIC,
}
"""Table → why none of its scripts is compared yet."""

_TWICE = "after a failed append Kafka's ConsumerGroupDescribe lists the member that was restored twice"

PENDING_SCRIPTS: dict[str, str] = {
    "a-classic-member-cannot-be-written": _CLASSIC,
    "a-classic-member-commits-what-it-kept": _CLASSIC,
    "a-classic-member-of-a-consumer-group-is-loaded": _CLASSIC,
    "a-downgrade-cannot-be-written": _CLASSIC,
    "a-downgraded-group-is-loaded": _CLASSIC,
    "a-downgraded-group-moves": _CLASSIC,
    "a-classic-group-of-two-is-upgraded": _CLASSIC,
    "a-classic-group-stays-so-where-policy-is-downgrade": _CLASSIC,
    "a-classic-member-where-policy-is-upgrade": _CLASSIC,
    "a-downgrade-where-policy-is-downgrade": _CLASSIC,
    "a-downgrade-with-a-member-behind": _CLASSIC,
    "a-group-that-never-synced-is-upgraded": _CLASSIC,
    "a-replacement-where-policy-is-downgrade": _CLASSIC,
    "a-replacement-where-policy-is-upgrade": _CLASSIC,
    "a-replacement-with-other-topics-makes-it-classic": _CLASSIC,
    "a-stable-classic-group-is-upgraded": _CLASSIC,
    "an-absent-instance-is-the-last-of-the-new-protocol": _CLASSIC,
    "members-live-on-after-an-upgrade": _CLASSIC,
    "no-downgrade-where-policy-is-upgrade": _CLASSIC,
    "one-static-member-of-two-upgrades": _CLASSIC,
    "only-classic-members-leave": _CLASSIC,
    "the-last-dynamic-member-becomes-classic": _CLASSIC,
    "the-last-member-of-the-new-protocol-is-removed": _CLASSIC,
    "the-last-member-of-the-new-protocol-is-replaced": _CLASSIC,
    "the-last-member-of-the-new-protocol-leaves": _CLASSIC,
    "the-protocol-of-a-downgraded-group": _CLASSIC,
    "there-and-back-again": _CLASSIC,
    "a-member-with-a-pattern-becomes-classic": _CLASSIC,
    "a-mixed-group-is-loaded-where-policy-is-disabled": _CLASSIC,
    "a-transaction-of-a-classic-member": _CLASSIC,
    "an-upgraded-group-moves": _CLASSIC,
    "classic-members-of-a-consumer-group-move": _CLASSIC,
    "commits-of-a-classic-member": _CLASSIC,
    "a-leave-cannot-be-written": _TWICE,
    "an-absence-cannot-be-written": _TWICE,
    "an-acknowledgement-cannot-be-written": _TWICE,
    "quiet-heartbeats-need-no-log": _TWICE,
    "a-pattern-is-loaded": "here the first heartbeat after a load resolves the patterns again",
    "a-group-that-a-refused-join-took-away-is-loaded": "here the group is gone before the partition's next append",
}
"""Script → why it is not compared yet, in a table that is."""
