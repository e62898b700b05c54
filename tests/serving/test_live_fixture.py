"""The fixture `kafka_lab` with a real client: the test that docs/serving.md shows."""

from __future__ import annotations

import pytest
from confluent_kafka import Consumer

from groupsim.control import Served
from groupsim.testing.live_fixture import line

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


def test_tests_share_a_cluster_where_they_say_so(pytester: pytest.Pytester) -> None:
    """Tests of one module have one cluster, those of the session one; the module's ends with it; a failure is shown."""
    pytester.makepyfile(
        test_one="""
        import pytest

        pytestmark = pytest.mark.kafka_lab(brokers=1, share="module")
        urls = []

        def test_first(kafka_lab):
            urls.append(kafka_lab.control.url)

        def test_second(kafka_lab):
            assert urls == [kafka_lab.control.url]

        @pytest.mark.kafka_lab(share="session")
        def test_third(kafka_lab):
            urls.append(kafka_lab.control.url)
            assert urls[0] != urls[1]
        """,
        test_two="""
        import pytest
        from test_one import urls

        @pytest.mark.kafka_lab(brokers=1, share="session")
        def test_fourth(kafka_lab):
            assert urls[1:] == [kafka_lab.control.url]
            kafka_lab.control.create_topic("late", 2)
            assert False
        """,
    )
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-p", "no:xdist")
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(["*what the coordinator saw*"])


def test_a_cluster_is_shared_by_module_or_session_only(pytester: pytest.Pytester) -> None:
    """Another word for `share` is an error that names those there are."""
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.kafka_lab(share="class")
        def test_it(kafka_lab):
            pass
        """
    )
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-p", "no:xdist")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*share='class': write share='module', share='session' or share='test'*"])


def test_an_event_is_one_line_of_when_who_what_and_why() -> None:
    """The line of an event leaves out what it does not have."""
    event = {"t_us": 1_500_000, "kind": "group.state", "group": "g", "from": "Empty", "to": "Dead", "reason": "gone"}
    assert line(event) == "  00:00:01.500000 group.state       g Empty → Dead gone"
