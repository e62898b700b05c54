"""The fixture `kafka_lab` with a real client: the test that docs/serving.md shows."""

from __future__ import annotations

import pytest
from confluent_kafka import Consumer

from groupsim.control import Served
from groupsim.live_fixture import line

pytest_plugins = ["pytester"]


@pytest.mark.kafka_lab(topics={"orders": 4})
def test_a_consumer_joins_again_when_the_round_it_syncs_in_is_over(kafka_lab: Served) -> None:
    """SyncGroup answered REBALANCE_IN_PROGRESS makes librdkafka join again, and it ends with every partition."""
    fault = kafka_lab.control.answer_error("SyncGroup", "REBALANCE_IN_PROGRESS", client_id="app")
    app = Consumer({"bootstrap.servers": kafka_lab.bootstrap, "group.id": "g", "client.id": "app"})
    app.subscribe(["orders"])
    try:
        while not fault.hits:
            app.poll(0.1)
        group = kafka_lab.control.await_group("g", state="Stable", members=1)
        assert len(group["members"][0]["partitions"]) == 4
    finally:
        app.close()
    assert kafka_lab.control.await_group("g", members=0)["state"] == "Empty"


def test_a_failing_test_shows_what_the_coordinator_saw(pytester: pytest.Pytester) -> None:
    """The report of a test that fails has the cluster's last events."""
    pytester.makepyfile(
        """
        def test_it(kafka_lab):
            kafka_lab.control.create_topic("orders", 2)
            kafka_lab.control.crash_broker(1)
            assert False
        """
    )
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-p", "no:xdist")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*what the coordinator saw*", "*action*crash-broker*"])


def test_an_event_is_one_line_of_when_who_what_and_why() -> None:
    """The line of an event leaves out what it does not have."""
    event = {"t_us": 1_500_000, "kind": "group.state", "group": "g", "from": "Empty", "to": "Dead", "reason": "gone"}
    assert line(event) == "  00:00:01.500000 group.state       g Empty → Dead gone"
