"""Paused processes and starved heartbeat threads, and each library's actions afterwards."""

from __future__ import annotations

import pytest

from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.errors import ErrorCode as E
from groupsim.protocol.messages.group import Api
from tests.helpers.members_fakes import parts

SECOND = 1_000_000


@pytest.mark.parametrize("profile", ["java-2.8", "java-3.5", "java-4.x", "kafka-python-2.x", "kafka-python-3.x"])
def test_a_process_that_was_paused_for_its_session_looks_for_the_coordinator_first(on_bench, profile):
    """The client's own session has expired: the coordinator is looked up before the overdue heartbeat is sent."""

    async def body(bench):
        await bench.stable()
        bench.consumer.pause("12s")
        await bench.run_for(20)
        resumed = bench.emitted(Kind.PROCESS_RESUMED)[0].t_us
        assert [event.t_us for event in bench.emitted(Kind.SESSION_EXPIRED)] == [resumed]
        asked = bench.broker.times(Api.FIND_COORDINATOR)
        beats = [at for at in bench.broker.times(Api.HEARTBEAT) if at > resumed]
        assert resumed <= asked[1] < beats[0]

    on_bench(body, profile=profile, properties={"session.timeout.ms": "10s"})


@pytest.mark.parametrize("profile", ["sarama", "franz-go", "kafkajs", "ruby-kafka"])
def test_a_client_without_a_session_of_its_own_sends_the_overdue_heartbeat(on_bench, profile):
    """Such a client sends the overdue heartbeat first, and learns of its expulsion from the answer."""

    async def body(bench):
        await bench.stable()
        bench.consumer.pause("12s")
        await bench.run_for(20)
        assert bench.emitted(Kind.SESSION_EXPIRED) == []
        assert len(bench.broker.times(Api.FIND_COORDINATOR)) == 1
        assert len(bench.broker.times(Api.HEARTBEAT)) >= 1

    on_bench(body, profile=profile, properties={"session.timeout.ms": "10s", "heartbeat.interval.ms": "3s"})


@pytest.mark.parametrize("profile", ["sarama", "franz-go"])
def test_a_go_client_that_was_expelled_joins_with_its_old_member_id_first(on_bench, profile):
    """The refused heartbeat ends the session; the member id is reset when JoinGroup is refused, too."""

    async def body(bench):
        await bench.stable()
        joined = len(bench.broker.all(Api.JOIN_GROUP))
        bench.broker.reply(Api.HEARTBEAT, E.UNKNOWN_MEMBER_ID)
        bench.broker.reply(Api.JOIN_GROUP, E.UNKNOWN_MEMBER_ID)
        await bench.run_for(15)
        assert [join.member_id == "" for join in bench.broker.all(Api.JOIN_GROUP)[joined:][:2]] == [False, True]

    on_bench(body, profile=profile)


def test_aiokafka_looks_at_its_session_after_a_heartbeat_that_failed(on_bench):
    """The overdue heartbeat is sent first; when it fails after a session, aiokafka gives the coordinator up."""

    async def body(bench):
        await bench.stable()
        bench.consumer.pause("12s")
        bench.broker.reply(Api.HEARTBEAT, E.UNKNOWN_MEMBER_ID)
        await bench.run_for(12.5)
        beat = bench.broker.times(Api.HEARTBEAT)[-1]
        assert bench.emitted(Kind.SESSION_EXPIRED)[0].t_us > beat
        assert bench.broker.times(Api.FIND_COORDINATOR)[1] > beat

    on_bench(body, profile="aiokafka", properties={"session.timeout.ms": "10s"})


def test_a_process_that_was_paused_inside_poll_for_the_poll_limit_stays(on_bench):
    """The application's thread polls before the heartbeat thread checks the limit: no LeaveGroup."""

    async def body(bench):
        await bench.stable()
        bench.consumer.pause("12s")
        await bench.run_for(14)
        assert bench.emitted(Kind.POLL_EXPIRED) == []
        assert bench.broker.all(Api.LEAVE_GROUP) == []

    on_bench(body, properties={"session.timeout.ms": "30s", "max.poll.interval.ms": "10s"})


def test_a_thread_that_was_starved_leaves_late(on_bench):
    """The heartbeat thread notices the poll limit when it runs again, before it sends a heartbeat."""

    async def body(bench):
        await bench.stable()
        begun = bench.loop.now_us
        bench.consumer.block_poll("20s")
        bench.consumer.block_heartbeats("12s")
        await bench.run_for(15)
        assert [event.t_us - begun for event in bench.emitted(Kind.POLL_EXPIRED)] == [12 * SECOND]
        assert bench.broker.all(Api.HEARTBEAT) == []

    on_bench(body, properties={"session.timeout.ms": "30s", "max.poll.interval.ms": "10s"})


def test_a_starved_heartbeat_thread_sends_nothing_while_the_application_runs(on_bench):
    """Records are delivered meanwhile; the thread checks the session before it sends a heartbeat."""

    async def body(bench):
        await bench.stable()
        begun = bench.loop.now_us
        bench.consumer.block_heartbeats("12s")
        await bench.run_for(6)
        bench.data.append(parts(0)[0], 1)
        await bench.run_for(5.9)
        assert bench.broker.all(Api.HEARTBEAT) == []
        assert len(bench.emitted(Kind.RECORDS_PROCESSED)) == 1
        await bench.run_for(3)
        assert [event.t_us - begun for event in bench.emitted(Kind.SESSION_EXPIRED)] == [12 * SECOND]
        assert bench.broker.times(Api.FIND_COORDINATOR)[1] < bench.broker.times(Api.HEARTBEAT)[0]

    on_bench(body, properties={"session.timeout.ms": "10s"})


def test_a_thread_starved_for_less_than_its_session_sends_what_is_overdue(on_bench):
    """The overdue heartbeat is sent when the thread runs again, the next one an interval later."""

    async def body(bench):
        await bench.stable()
        begun = bench.loop.now_us
        bench.consumer.block_heartbeats("5s")
        bench.consumer.block_heartbeats("2s")  # the longer one counts
        await bench.run_for(9)
        assert [at - begun - 500 for at in bench.broker.times(Api.HEARTBEAT)] == [5 * SECOND, 8 * SECOND]
        assert bench.emitted(Kind.SESSION_EXPIRED) == []

    on_bench(body, properties={"session.timeout.ms": "10s"})


def test_a_client_that_heartbeats_from_poll_has_no_thread_to_starve(on_bench):
    """The call is refused, and the error names the alternative."""

    async def body(bench):
        await bench.stable()
        with pytest.raises(ValueError, match="sends heartbeats from poll; block poll instead"):
            bench.consumer.block_heartbeats("5s")

    on_bench(body, profile="kafkajs")
