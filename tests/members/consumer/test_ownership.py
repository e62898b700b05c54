"""Ownership over time: eager and cooperative callbacks, and the owned intervals in the trace (section 4.8)."""

from __future__ import annotations

from groupsim.eventloop.distributions import parse_distribution
from groupsim.eventloop.trace.events import Kind
from groupsim.members.behaviour import Behaviour
from groupsim.members.profiles.profile import OnError
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import Api
from tests.helpers.members_fakes import SECOND, parts, subscription_of

COOPERATIVE = {"partition.assignment.strategy": "cooperative-sticky"}
OWNERSHIP = (Kind.CALLBACK_BEGUN, Kind.CALLBACK_ENDED, Kind.PARTITION_OWNED, Kind.PARTITION_RELEASED)


def test_an_owned_interval_spans_from_assigned_begun_to_revoked_returned(on_bench):
    """A partition is owned from the start of the assigned callback until the revoked one has returned."""

    async def body(bench):
        bench.broker.follow(parts(0))
        await bench.stable()
        bench.broker.follow(parts(1))
        bench.broker.rebalance()
        await bench.run_for(10)
        assert bench.shape(*OWNERSHIP) == [
            "partition.owned",
            "callback.begun:assigned",
            "callback.ended:assigned",
            "callback.begun:revoked",
            "callback.ended:revoked",
            "partition.released:revoked",
            "partition.owned",
            "callback.begun:assigned",
            "callback.ended:assigned",
        ]
        released, revoked = bench.emitted(Kind.PARTITION_RELEASED)[0], bench.emitted(Kind.CALLBACK_BEGUN)[1]
        assert released.t_us - revoked.t_us == 2 * SECOND

    on_bench(body, behaviour=Behaviour(on_revoked=parse_distribution("2s")))


def test_eager_callbacks_come_even_when_empty(on_bench):
    """EAGER calls revoked before each join and assigned after it, even without partitions."""

    async def body(bench):
        bench.broker.follow(())
        bench.consumer.start()
        await bench.run_for(1)
        bench.broker.rebalance()
        await bench.run_for(5)
        assert bench.reasons(Kind.CALLBACK_BEGUN) == ["assigned", "revoked", "assigned"]
        assert bench.emitted(Kind.CALLBACK_BEGUN)[1].payload == {"partitions": []}

    on_bench(body)


def test_cooperative_keeps_what_it_keeps(on_bench):
    """COOPERATIVE revokes only what the new assignment takes away, and then rejoins for the new owners."""

    async def body(bench):
        bench.broker.follow(parts(0, 1))
        await bench.stable()
        bench.broker.follow(parts(0))
        bench.broker.rebalance()
        await bench.run_for(5)
        assert bench.reasons(Kind.CALLBACK_BEGUN) == ["assigned", "revoked", "assigned", "assigned"]
        assert bench.emitted(Kind.CALLBACK_BEGUN)[1].payload == {"partitions": ["t-1"]}
        assert "need to revoke partitions and re-join" in bench.reasons(Kind.REJOIN_REQUESTED)
        assert bench.consumer.generation == 3
        assert subscription_of(bench.broker.last(Api.JOIN_GROUP)).owned == parts(0)
        assert [event.partition for event in bench.emitted(Kind.PARTITION_OWNED)] == [0, 1]

    on_bench(body, properties=COOPERATIVE)


def test_cooperative_members_go_on_delivering_while_their_join_is_parked(on_bench):
    """A parked JoinGroup does not stop the partitions that a cooperative member owns."""

    async def body(bench):
        await bench.stable()
        bench.broker.reply(Api.JOIN_GROUP, "hold")
        bench.broker.rebalance()
        await bench.run_for(5)
        assert bench.consumer.state == "PREPARING_REBALANCE"
        bench.data.append(parts(0)[0], 7)
        await bench.run_for(1)
        [delivered] = bench.emitted(Kind.RECORDS_DELIVERED)
        assert delivered.payload == {"base": 0, "count": 7}

    on_bench(body, properties=COOPERATIVE)


def test_eager_members_deliver_nothing_while_their_join_is_parked(on_bench):
    """An eager member owns nothing while it waits for the group."""

    async def body(bench):
        await bench.stable()
        bench.broker.reply(Api.JOIN_GROUP, "hold")
        bench.broker.rebalance()
        await bench.run_for(5)
        bench.data.append(parts(0)[0], 7)
        await bench.run_for(1)
        assert bench.emitted(Kind.RECORDS_DELIVERED) == []
        assert bench.consumer.assignment == ()

    on_bench(body)


def test_cooperative_revokes_a_topic_it_no_longer_subscribes_to_before_joining(on_bench):
    """Before the join COOPERATIVE gives up only partitions of unsubscribed topics."""

    async def body(bench):
        await bench.stable()
        bench.consumer.subscribe(["t"])
        await bench.run_for(1)
        assert bench.emitted(Kind.CALLBACK_BEGUN)[1].payload == {"partitions": ["u-0"]}
        assert bench.consumer.assignment == parts(0, 1)

    on_bench(body, properties=COOPERATIVE, topics={"t": 2, "u": 1}, subscribe={"topics": ["t", "u"]})


def test_a_lost_membership_owns_nothing_in_its_next_subscription(on_bench):
    """After UNKNOWN_MEMBER_ID the partitions are lost before the join, so it claims none (KAFKA-12983)."""

    async def body(bench):
        await bench.stable()
        bench.broker.reply(Api.HEARTBEAT, ErrorCode.UNKNOWN_MEMBER_ID)
        await bench.run_for(4)
        assert bench.reasons(Kind.CALLBACK_BEGUN) == ["assigned", "lost", "assigned"]
        claims = [subscription_of(request).owned for request in bench.broker.all(Api.JOIN_GROUP)]
        assert claims == [()] * 4

    on_bench(body, properties=COOPERATIVE)


def test_a_callback_that_blocks_holds_the_join_up_while_heartbeats_go_on(on_bench):
    """During a revoked callback of a minute no JoinGroup is sent, and heartbeats continue (parallel-consumer #646)."""

    async def body(bench):
        await bench.stable()
        bench.consumer.block_callback("revoked", 60 * SECOND)
        joined = len(bench.broker.all(Api.JOIN_GROUP))
        bench.broker.rebalance()
        await bench.run_for(30)
        assert len(bench.broker.all(Api.JOIN_GROUP)) == joined
        assert bench.reasons(Kind.REJOIN_REQUESTED).count("group is already rebalancing") == 10
        await bench.run_for(40)
        assert bench.consumer.generation == 2

    on_bench(body)


def test_a_callback_longer_than_the_poll_limit_loses_the_membership(on_bench):
    """When the poll limit expires in the revoked callback the client leaves, and later joins as a new member."""

    async def body(bench):
        await bench.stable()
        bench.consumer.block_callback("revoked", 30 * SECOND)
        bench.broker.rebalance()
        await bench.run_for(60)
        assert len(bench.emitted(Kind.POLL_EXPIRED)) == 1
        assert bench.consumer.member_id == "m2"
        assert bench.reasons(Kind.CALLBACK_BEGUN) == ["assigned", "revoked", "assigned"]

    on_bench(body, properties={"max.poll.interval.ms": "10s"})


def test_a_callback_that_raises_comes_out_of_poll(on_bench):
    """A listener's exception is wrapped and thrown from poll; the trace has it with the callback."""

    async def body(bench):
        await bench.stable()
        bench.consumer.raise_in_callback("revoked", "disk full")
        bench.broker.rebalance()
        await bench.consumer.ended()
        assert "disk full" in bench.consumer.failed.reason
        assert [event.error for event in bench.emitted(Kind.CALLBACK_ENDED)][:2] == [None, "disk full"]
        assert bench.consumer.assignment == ()

    on_bench(body)


def test_callbacks_are_given_partitions_in_order(on_bench):
    """Callbacks get partitions sorted by topic and number, whatever the order of the assignment."""

    async def body(bench):
        bench.broker.follow([*parts(2, 0, topic="u"), *parts(1, topic="t")])
        await bench.stable()
        [assigned] = bench.emitted(Kind.CALLBACK_BEGUN)
        assert assigned.payload["partitions"] == ["t-1", "u-0", "u-2"]

    on_bench(body, topics={"t": 2, "u": 3}, subscribe={"topics": ["t", "u"]})


def test_old_clients_are_given_partitions_as_a_hash_set_has_them(on_bench):
    """Clients of 2.8.2 and 3.1.2 get partitions of a topic with this name in this order."""
    topic = "a-topic-gets-more-partitions.t"

    async def body(bench):
        bench.broker.follow(parts(0, 1, 2, topic=topic))
        await bench.stable()
        [assigned] = bench.emitted(Kind.CALLBACK_BEGUN)
        assert assigned.payload["partitions"] == [f"{topic}-1", f"{topic}-2", f"{topic}-0"]

    on_bench(body, topics={topic: 3}, subscribe={"topics": [topic]}, profile="java-3.1")


def test_a_member_that_was_told_of_a_rebalance_and_closes_revokes(on_bench):
    """A membership is valid until the next join: a close revokes, and loses nothing."""

    async def body(bench):
        await bench.stable()
        bench.consumer.block_poll(20 * SECOND)
        bench.broker.rebalance()
        await bench.run_for(5)
        await bench.consumer.close()
        assert bench.reasons(Kind.CALLBACK_BEGUN) == ["assigned", "revoked"]

    on_bench(body)


def test_unsubscribing_revokes_and_leaves(on_bench):
    """unsubscribe gives partitions up and leaves, with its own reason; the process continues."""

    async def body(bench):
        await bench.stable()
        bench.consumer.unsubscribe()
        await bench.run_for(20)
        assert bench.reasons(Kind.CALLBACK_BEGUN) == ["assigned", "revoked"]
        assert bench.broker.last(Api.LEAVE_GROUP).members[0].reason == "the consumer unsubscribed from all topics"
        assert bench.consumer.state == "UNJOINED"
        assert bench.broker.all(Api.HEARTBEAT) == []
        bench.consumer.subscribe(["t"])
        await bench.stable()
        assert bench.consumer.member_id == "m2"

    on_bench(body)


def test_a_member_whose_session_was_lost_while_stuck_loses_before_it_revokes(on_bench):
    """A pause longer than the session: the next heartbeat gets UNKNOWN_MEMBER_ID, and all partitions are lost."""

    async def body(bench):
        await bench.stable()
        bench.consumer.pause(20 * SECOND)
        await bench.run_for(19)
        assert bench.consumer.assignment == parts(0, 1, 2, 3)  # it cannot know
        bench.broker.reply(Api.HEARTBEAT, ErrorCode.UNKNOWN_MEMBER_ID)
        await bench.run_for(3)
        assert bench.reasons(Kind.PARTITION_RELEASED) == ["lost"] * 4
        assert bench.consumer.generation == 2

    on_bench(body)


def test_of_two_callbacks_that_raise_the_first_is_thrown(on_bench):
    """If revocation and assignment of one rebalance raise, poll throws the exception of the revocation."""

    async def body(bench):
        bench.broker.follow(parts(0, 1))
        await bench.stable()
        bench.broker.follow(parts(0, 2))
        bench.consumer.raise_in_callback("revoked", "disk full")
        bench.consumer.raise_in_callback("assigned", "no memory")
        bench.broker.rebalance()
        await bench.loop.until(lambda: len(bench.emitted(Kind.WARNING)) == 1, 10 * SECOND)
        assert bench.reasons(Kind.CALLBACK_BEGUN) == ["assigned", "revoked", "assigned"]
        assert "disk full" in bench.emitted(Kind.WARNING)[0].reason

    on_bench(body, properties=COOPERATIVE, behaviour=Behaviour(on_error=OnError.RETRY))


def test_a_raising_revocation_does_not_stop_the_assignment(on_bench):
    """All callbacks after a join run, and poll throws the first exception afterwards."""

    async def body(bench):
        bench.broker.follow(parts(0, 1))
        await bench.stable()
        bench.broker.follow(parts(0, 2))
        bench.consumer.raise_in_callback("revoked", "disk full")
        bench.broker.rebalance()
        await bench.loop.until(lambda: len(bench.emitted(Kind.WARNING)) == 1, 10 * SECOND)
        assert bench.reasons(Kind.CALLBACK_BEGUN) == ["assigned", "revoked", "assigned"]
        assert bench.consumer.assignment == parts(0, 2)
        await bench.run_for(2)
        assert bench.consumer.state == "STABLE"

    on_bench(body, properties=COOPERATIVE, behaviour=Behaviour(on_error=OnError.RETRY))
