"""Start, close, crash, pause and restart of a consumer process."""

from __future__ import annotations

import pytest

from groupsim.eventloop.distributions import parse_distribution
from groupsim.eventloop.trace.events import Kind
from groupsim.members.behaviour import Behaviour
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import Api
from tests.helpers.members_fakes import HOLD, SECOND, parts

STATIC = {"group.instance.id": "i1"}


def test_a_clean_close_commits_revokes_and_leaves(on_bench):
    """A close runs the last commit, the revoked callback and LeaveGroup, then the process has stopped."""

    async def body(bench):
        await bench.stable()
        await bench.consumer.close()
        kinds = (Kind.CALLBACK_BEGUN, Kind.PARTITION_RELEASED, Kind.GENERATION_RESET, Kind.PROCESS_STOPPED)
        assert bench.shape(*kinds)[1:] == [
            "callback.begun:revoked",
            *["partition.released:revoked"] * 4,
            "generation.reset:consumer pro-actively leaving the group",
            "process.stopped:closed",
        ]

    on_bench(body)


def test_a_closed_process_does_nothing_more(on_bench):
    """No timer of a closed process fires: no request for an hour."""

    async def body(bench):
        await bench.stable()
        await bench.consumer.close()
        asked = len(bench.broker.asked)
        await bench.run_for(3_600)
        assert len(bench.broker.asked) == asked
        assert bench.consumer.state == "STOPPED"

    on_bench(body)


def test_closing_lets_the_handler_finish_its_batch(on_bench):
    """A process that closes finishes its current records, commits them, and then leaves."""

    async def body(bench):
        await bench.stable()
        bench.data.append(parts(0)[0], 1)
        await bench.run_for(1)
        begun = bench.loop.now_us
        await bench.consumer.close()
        assert 8 * SECOND < bench.loop.now_us - begun < 10 * SECOND
        assert bench.broker.committed[parts(0)[0]] == 1

    on_bench(body, behaviour=Behaviour(processing=parse_distribution("10s")))


@pytest.mark.parametrize(
    ("properties", "leave", "leaves", "revokes"),
    [
        ({}, None, True, True),
        ({}, False, False, True),
        (STATIC, None, False, True),
        (STATIC, True, True, True),
        ({"internal.leave.group.on.close": "false"}, None, False, False),
    ],
)
def test_who_leaves_on_close(on_bench, properties, leave, leaves, revokes):
    """Dynamic members leave and static ones stay, unless CloseOptions or internal.leave.group.on.close differ.

    Only the internal setting suppresses the callback.
    """

    async def body(bench):
        await bench.stable()
        await bench.consumer.close(leave)
        assert len(bench.broker.all(Api.LEAVE_GROUP)) == leaves
        assert ("revoked" in bench.reasons(Kind.CALLBACK_BEGUN)) is revokes

    on_bench(body, properties=properties)


def test_a_pending_member_leaves_too(on_bench):
    """A client that closes while its join is parked leaves with its pending id."""

    async def body(bench):
        bench.broker.reply(Api.JOIN_GROUP, None, HOLD)
        bench.consumer.start()
        await bench.run_for(1)
        await bench.consumer.close()
        assert bench.broker.last(Api.LEAVE_GROUP).members[0].member_id == "m1"

    on_bench(body)


def test_closing_before_the_coordinator_is_known_leaves_nothing(on_bench):
    """A close without a coordinator sends no LeaveGroup, and ends at once."""

    async def body(bench):
        bench.net.unreachable = True
        bench.consumer.start()
        await bench.run_for(1)
        begun = bench.loop.now_us
        await bench.consumer.close()
        assert bench.loop.now_us == begun

    on_bench(body)


def test_a_leave_without_an_answer_ends_after_the_request_timeout(on_bench):
    """close waits at most request.timeout.ms for the answer to LeaveGroup."""

    async def body(bench):
        await bench.stable()
        bench.broker.reply(Api.LEAVE_GROUP, HOLD)
        begun = bench.loop.now_us
        await bench.consumer.close()
        assert 30 * SECOND <= bench.loop.now_us - begun <= 30.1 * SECOND

    on_bench(body)


def test_a_crash_says_nothing_to_anyone(on_bench):
    """A killed process sends neither commit nor LeaveGroup, runs no callback, and owns nothing afterwards."""

    async def body(bench):
        await bench.stable()
        asked = len(bench.broker.asked)
        bench.consumer.crash()
        await bench.run_for(60)
        assert len(bench.broker.asked) == asked
        assert bench.reasons(Kind.PARTITION_RELEASED) == ["crashed"] * 4
        assert bench.reasons(Kind.CALLBACK_BEGUN) == ["assigned"]
        assert (bench.consumer.state, bench.consumer.assignment) == ("CRASHED", ())

    on_bench(body)


def test_a_restarted_process_remembers_nothing(on_bench):
    """The next process on the host joins as a new member and begins at the committed offsets."""

    async def body(bench):
        await bench.stable()
        bench.consumer.crash()
        await bench.run_for(1)
        await bench.stable()
        assert bench.consumer.member_id == "m2"
        assert len(bench.emitted(Kind.PROCESS_STARTED)) == 2

    on_bench(body)


def test_a_static_member_restarts_under_its_instance_id(on_bench):
    """A static member joins with its instance id and no member id, without the handshake."""

    async def body(bench):
        await bench.stable()
        await bench.consumer.close()
        await bench.stable()
        requests = bench.broker.all(Api.JOIN_GROUP)
        assert [(request.member_id, request.group_instance_id) for request in requests] == [("", "i1")] * 2

    on_bench(body, properties=STATIC)


def test_a_paused_process_catches_up(on_bench):
    """A paused process sends nothing; afterwards the overdue heartbeat is sent at once."""

    async def body(bench):
        await bench.stable()
        await bench.run_for(1)
        begun = bench.loop.now_us
        bench.consumer.pause(20 * SECOND)
        await bench.run_for(30)
        beats = [at - begun for at in bench.broker.times(Api.HEARTBEAT)]
        assert beats[0] == 20 * SECOND + 500
        assert [event.payload for event in bench.emitted(Kind.PROCESS_PAUSED)] == [{"pause_us": 20 * SECOND}]
        assert bench.emitted(Kind.PROCESS_RESUMED)[0].t_us - begun == 20 * SECOND

    on_bench(body)


def test_a_crash_during_a_pause_is_final(on_bench):
    """The end of a pause does not revive a process that was killed meanwhile."""

    async def body(bench):
        await bench.stable()
        bench.consumer.pause(20 * SECOND)
        await bench.run_for(5)
        bench.consumer.crash()
        bench.consumer.start()
        await bench.run_for(1)
        bench.consumer.pause(60 * SECOND)
        await bench.run_for(30)
        assert bench.consumer.host.paused
        assert bench.emitted(Kind.PROCESS_RESUMED) == []

    on_bench(body)


def test_a_failed_process_leaves_like_a_closed_one(on_bench):
    """An application that ends closes its consumer: partitions are given up, and the member leaves."""

    async def body(bench):
        await bench.stable()
        bench.broker.reply(Api.JOIN_GROUP, ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        bench.broker.rebalance()
        await bench.consumer.ended()
        assert bench.consumer.state == "FAILED"
        assert len(bench.broker.all(Api.LEAVE_GROUP)) == 1
        assert bench.emitted(Kind.PROCESS_STOPPED) == []

    on_bench(body)


def test_starting_twice_is_refused(on_bench):
    """A host runs one process of a consumer at a time."""

    async def body(bench):
        bench.consumer.start()
        with pytest.raises(RuntimeError, match="runs already"):
            bench.consumer.start()

    on_bench(body)


def test_the_trace_changes_nothing(on_bench):
    """The same run without a trace sends the same requests at the same times."""
    asked = []

    async def body(bench):
        bench.consumer.start()
        bench.loop.host("c1")
        await bench.run_for(5)
        bench.data.append(parts(0)[0], 100)
        await bench.run_for(5)
        bench.broker.rebalance()
        await bench.run_for(20)
        asked.append(bench.broker.asked)

    for level in (0, 1, 2):
        on_bench(body, level=level, behaviour=Behaviour(processing=parse_distribution("uniform(1ms, 9ms)")))
    assert asked[0] == asked[1] == asked[2]


# --- partitions of one's own choice (`assign()`) -----------------------------------------------------------------


def manual(bench):
    """Start a consumer that assigned t-0 and t-1 to itself."""
    bench.consumer.unsubscribe()
    bench.consumer.assign(parts(0, 1))
    bench.consumer.start()


def test_a_consumer_with_assigned_partitions_joins_no_group(on_bench):
    """assign() sends no JoinGroup and no heartbeat and runs no callback; offsets are fetched, records delivered."""

    async def body(bench):
        bench.broker.committed[parts(0)[0]] = 3
        bench.data.ends[parts(0)[0]] = 5
        manual(bench)
        await bench.run_for(20)
        assert [event.payload for event in bench.emitted(Kind.RECORDS_DELIVERED)] == [{"base": 3, "count": 2}]
        asked = {request.API for _, request in bench.broker.asked}
        assert asked == {Api.METADATA, Api.FIND_COORDINATOR, Api.OFFSET_FETCH, Api.OFFSET_COMMIT}
        assert bench.emitted(Kind.CALLBACK_BEGUN) == []
        await bench.consumer.close()
        assert bench.consumer.state == "STOPPED"
        assert bench.broker.all(Api.LEAVE_GROUP) == []

    on_bench(body)


def test_assigning_again_keeps_what_is_in_both(on_bench):
    """A new assign() releases unnamed partitions, looks new ones up, and leaves the others at their position."""

    async def body(bench):
        manual(bench)
        await bench.run_for(1)
        bench.consumer.assign(parts(1, 2))
        await bench.run_for(1)
        released = [(event.partition, event.reason) for event in bench.emitted(Kind.PARTITION_RELEASED)]
        assert released == [(0, "unassigned")]
        assert [event.partition for event in bench.emitted(Kind.PARTITION_OWNED)] == [0, 1, 2]
        assert [request.partitions for request in bench.broker.all(Api.OFFSET_FETCH)] == [parts(0, 1), parts(2)]

    on_bench(body)


def test_it_commits_without_generation_member_and_instance_id(on_bench):
    """Commits have generation -1 and no ids, not even the instance id; the last one is sent on close."""

    async def body(bench):
        manual(bench)
        bench.data.ends[parts(0)[0]] = 5
        await bench.run_for(1)
        await bench.consumer.close()
        [commit] = bench.broker.all(Api.OFFSET_COMMIT)
        assert (commit.generation_id, commit.member_id, commit.group_instance_id) == (-1, "", None)
        assert bench.broker.committed[parts(0)[0]] == 5

    on_bench(body, properties={"group.instance.id": "i1"})


def test_assigning_beside_a_subscription_is_refused(on_bench):
    """Topics, pattern and partitions exclude each other until unsubscribe, which releases them."""

    async def body(bench):
        with pytest.raises(RuntimeError, match="mutually exclusive"):
            bench.consumer.assign(parts(0))
        manual(bench)
        await bench.run_for(1)
        with pytest.raises(RuntimeError, match="mutually exclusive"):
            bench.consumer.subscribe(["t"])
        bench.consumer.unsubscribe()
        await bench.run_for(1)
        assert bench.consumer.assignment == ()
        assert {event.reason for event in bench.emitted(Kind.PARTITION_RELEASED)} == {"unassigned"}

    on_bench(body)
