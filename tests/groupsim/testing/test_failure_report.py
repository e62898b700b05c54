"""The report of a failed test: who is where, which faults struck, and the last events that matter."""

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]


def test_a_failed_test_tells_members_faults_and_events_without_polls(pytester: pytest.Pytester) -> None:
    """The report has missing topics, faults without a hit, and the processes of member ids."""
    pytester.makepyfile(
        """
        from groupsim import ErrorCode
        from groupsim.cluster.network.faults import AnswerError, Match
        from groupsim.protocol.messages.group import Api

        async def test_fails(sim):
            sim.topic("orders", 2)
            sim.member("c1", topics=["order"])
            sim.inject(AnswerError(Match(group="g2", api=Api.HEARTBEAT), ErrorCode.UNKNOWN_MEMBER_ID))
            await sim.stable(members=1)
            await sim.run_for("30s")
            assert sim.find("member.removed", reason="session-expire")
        """
    )
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*there is no event member.removed*",
            "members:",
            "  c1  g1  STABLE  generation 1  owns nothing",
            "    subscribes to 'order', which does not exist; did you mean `orders`?",
            "faults:",
            "  answer UNKNOWN_MEMBER_ID to the next Heartbeat of every host of g2: struck nothing",
            "the last 25 events, without polls, records, timers and successful commits*",
            "*member.added *broker-0  c1*",
        ]
    )
    assert result.stdout.str().count("Metadata") <= 2


def test_the_last_events_of_a_busy_group_are_not_all_records_and_commits(pytester: pytest.Pytester) -> None:
    """The last rebalance is listed after minutes of commits; a refused commit is listed."""
    pytester.makepyfile(
        """
        from groupsim.cluster.network.faults import AnswerError, Match

        async def test_fails(sim):
            sim.topic("orders", 2, rate=50)
            sim.member("c1")
            await sim.settled(members=1)
            await sim.run_for("60s")
            sim.inject(AnswerError(Match(host="c1", api="OffsetCommit"), "REQUEST_TIMED_OUT"))
            await sim.run_for("60s")
            assert sim.find("member.removed")
        """
    )
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider")
    result.stdout.fnmatch_lines(["*fault.begun*", "*response.received*OffsetCommit  REQUEST_TIMED_OUT*"])
    last = result.stdout.str().partition("the last 25 events")[2]
    assert "records." not in last
    assert "record.appended" not in last
    assert last.count("offsets.committed") == 2  # before the refusal, and after it


def test_a_failure_report_shows_the_state_at_the_failure(pytester: pytest.Pytester) -> None:
    """What members give up when the run unwinds is no part of the report: it tells what they had when it failed."""
    pytester.makepyfile(
        """
        async def test_fails(sim):
            sim.topic("orders", 2)
            sim.member("c1", on_revoked="30s")
            await sim.settled(members=1)
            sim.member("c2")
            await sim.settled(members=2, within="12s")
        """
    )
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider")
    result.stdout.fnmatch_lines(
        ["  c1  g1  STABLE  generation 1  owns orders-0 orders-1", "  JoinGroup of c2, until every*"]
    )
    assert "partition.released" not in result.stdout.str()
