"""Whether a group of librdkafka can be rolled to the consumer protocol depends on its strategy, as with real ones."""

from __future__ import annotations

import pytest

from groupsim import load_text, run_scenario
from groupsim.eventloop.trace.events import Kind

ROLL = """
title: One of three restarts with the consumer protocol
run-for: 90s
broker: {{version: "4.4"}}
topics: {{orders: {{partitions: 6}}}}
groups:
  g1:
    client: {client}
    assignor: {strategy}
    members: {{c: {{count: 3, stagger: 10s}}}}
timeline:
  - {{at: 60s, do: restart, member: c-1, properties: {{group.protocol: consumer, partition.assignment.strategy: null}}}}
"""


@pytest.mark.parametrize(
    ("client", "strategy", "upgraded"),
    [
        ("librdkafka-2.16", "cooperative-sticky", False),
        ("librdkafka-2.16", "range", True),
        ("java-4.4", "cooperative-sticky", True),
    ],
)
def test_user_data_of_librdkafkas_cooperative_sticky_refuses_the_upgrade(client, strategy, upgraded):
    """Its leader writes each member's user data into the assignment, which a broker takes for a custom assignor.

    `tests/interop/rolling_cases.py` holds the same of real clients, on Kafka and on `groupsim serve`.
    """
    run = run_scenario(load_text(ROLL.format(client=client, strategy=strategy)))
    assert [event.kind for event in run.events if event.kind is Kind.GROUP_CONVERTED] == (
        [Kind.GROUP_CONVERTED] if upgraded else []
    )
