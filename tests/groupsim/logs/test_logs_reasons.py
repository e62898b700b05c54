"""The full reason in the Java consumer's line "Request joining group due to: …", by release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from groupsim.logs.clients.java_reasons import full_reason

BEFORE = {"version": 3, "topics": {"orders": [[], []]}}
NOW = {"version": 5, "topics": {"orders": [[], [], []]}}
RACKS = {"version": 5, "topics": {"orders": [["a", "b"]]}}


@pytest.mark.parametrize(
    ("version", "reason", "payload", "message"),
    [
        (
            (4, 4),
            "rebalance failed due to RebalanceInProgressException",
            {},
            "rebalance failed due to 'The group is rebalancing, so a rejoin is needed.' (RebalanceInProgressException)",
        ),
        (
            (3, 9),
            "rebalance failed due to DisconnectException",
            {},
            "rebalance failed due to 'null' (DisconnectException)",
        ),
        (
            (3, 9),
            "rebalance failed due to KafkaException",
            {"refused": ("SyncGroup", "COORDINATOR_LOAD_IN_PROGRESS")},
            "rebalance failed due to 'Unexpected error from SyncGroup: The coordinator is loading and hence can't "
            "process requests.' (KafkaException)",
        ),
        (
            (3, 3),
            "cached metadata has changed",
            {"before": BEFORE, "now": NOW},
            "cached metadata has changed from (version3: {orders=2}) at the beginning of the rebalance to "
            "(version5: {orders=3})",
        ),
        (
            (4, 4),
            "cached metadata has changed",
            {"before": BEFORE, "now": RACKS},
            "cached metadata has changed from (version3: {orders=[NO_RACKS, NO_RACKS]}) at the beginning of the "
            "rebalance to (version5: {orders=[racks=[a, b]]})",
        ),
        (
            (4, 4),
            "subscription has changed",
            {"before": ["orders"], "now": ["orders", "payments"]},
            "subscription has changed from [orders] at the beginning of the rebalance to [payments, orders]",
        ),
        (
            (4, 4),
            "need to revoke partitions and re-join",
            {},
            "need to revoke partitions [orders-1] as indicated by the current assignment and re-join",
        ),
        (
            (4, 4),
            "received assignment does not match the current subscription",
            {"subscribed": "payments"},
            "received assignment [orders-0, orders-1] does not match the current subscription Subscribe(payments); it "
            "is likely that the subscription has changed since we joined the group, will re-join with current "
            "subscription",
        ),
        ((4, 4), "group is already rebalancing", {}, "group is already rebalancing"),
    ],
)
def test_the_log_says_the_full_reason(
    version: tuple[int, int], reason: str, payload: Mapping[str, Any], message: str
) -> None:
    """JoinGroup carries the short reason, the log the full one, in the words of the release."""
    given: Sequence[str] = ("orders-0", "orders-1")
    assert full_reason(reason, payload, version, given, "orders-1") == message
