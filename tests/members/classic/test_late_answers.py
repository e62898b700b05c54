"""Answers to a JoinGroup or SyncGroup that was abandoned meanwhile."""

from __future__ import annotations

import pytest

from groupsim.protocol.errors import ErrorCode as E
from groupsim.protocol.messages.group import Api, JoinGroupResponse, SyncGroupResponse
from tests.helpers.members_fakes import HOLD, parts


def test_unsubscribing_while_the_first_join_is_under_way_forgets_it(on_bench):
    """The answer to an abandoned JoinGroup is ignored; a new subscription starts without a membership."""

    async def body(bench):
        bench.broker.reply(Api.JOIN_GROUP, HOLD)
        bench.consumer.start()
        await bench.run_for(1)
        bench.consumer.unsubscribe()
        await bench.run_for(1)
        assert bench.consumer.state == "UNJOINED"
        bench.broker.release(JoinGroupResponse(E.MEMBER_ID_REQUIRED, member_id="m9"))
        await bench.run_for(1)
        bench.consumer.subscribe(["t"])
        await bench.stable()
        assert bench.consumer.member_id == "m1"

    on_bench(body)


@pytest.mark.parametrize("api", [Api.JOIN_GROUP, Api.SYNC_GROUP])
def test_an_answer_to_a_request_given_up_by_unsubscribing_is_ignored(on_bench, api):
    """An answer for the former membership changes nothing after the application unsubscribed and subscribed again."""
    late = {
        Api.JOIN_GROUP: JoinGroupResponse(
            generation_id=99, protocol_type="consumer", protocol_name="range", leader="x", member_id="m1"
        ),
        Api.SYNC_GROUP: SyncGroupResponse(E.UNKNOWN_MEMBER_ID),
    }

    async def body(bench):
        bench.broker.follow(parts(0))
        bench.broker.reply(api, *([None] if api is Api.JOIN_GROUP else []), HOLD)
        bench.consumer.start()
        await bench.run_for(1)
        bench.consumer.unsubscribe()
        await bench.run_for(1)
        bench.broker.reply(api, *([None] if api is Api.JOIN_GROUP else []), HOLD)
        bench.consumer.subscribe(["t"])
        await bench.run_for(1)
        assert len(bench.broker.held) == 2
        bench.broker.release(late[api])
        await bench.run_for(1)
        waits = "PREPARING_REBALANCE" if api is Api.JOIN_GROUP else "COMPLETING_REBALANCE"
        assert (bench.consumer.state, bench.consumer.member_id) == (waits, "m2")
        assert bench.consumer.generation != 99
        assert len(bench.broker.held) == 1

    on_bench(body)
