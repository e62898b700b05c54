"""The leader's assignor: built-in ones, the user's own, and its defects."""

from __future__ import annotations

import pytest

from groupsim.assignors import Assignor, RebalanceProtocol, RoundRobinAssignor
from groupsim.eventloop.trace.events import Kind
from groupsim.members.behaviour import Behaviour
from groupsim.members.failures import PluginError, PluginErrors
from groupsim.members.profiles.profile import OnError
from groupsim.members.settings import SettingError
from groupsim.protocol.embedded.assignment import GroupAssignment
from groupsim.protocol.embedded.consumer_protocol import Subscription, encode_subscription
from groupsim.protocol.messages.group import Api, JoinGroupResponse, JoinMember
from tests.helpers.members_fakes import parts


class Mine(Assignor):
    name = "mine"

    def __init__(self, result=None, error=None):
        self.result, self.error = result, error
        self.got = []

    def assign(self, topics, members):
        if self.error:
            raise self.error
        return self.result or GroupAssignment({members[0].member_id: parts(*range(topics["t"].partitions))})

    def on_assignment(self, partitions, generation):
        self.got.append((partitions, generation))


class Cooperative(Mine):
    protocols = frozenset({RebalanceProtocol.EAGER, RebalanceProtocol.COOPERATIVE})


class OnlyCooperative(Mine):
    protocols = frozenset({RebalanceProtocol.COOPERATIVE})


def test_the_trace_has_the_leaders_assignment(on_bench):
    """The trace has the assignor, counts and the whole assignment."""

    async def body(bench):
        await bench.stable()
        [computed] = bench.emitted(Kind.ASSIGNMENT_COMPUTED)
        assert computed.payload["assignor"] == "range"
        assert computed.payload["counts"] == {"m1": 4}
        assert computed.payload["assignment"]["m1"] == ["t-0", "t-1", "t-2", "t-3"]

    on_bench(body)


def test_an_assignor_that_raises_when_told_costs_no_partitions(on_bench):
    """As in Java the assignment is adopted and called back before the exception is thrown from poll."""

    class Forgetful(Mine):
        def on_assignment(self, partitions, generation):
            super().on_assignment(partitions, generation)
            if len(self.got) == 1:
                raise ValueError("no room")

    async def body(bench):
        await bench.stable()
        assert bench.consumer.assignment == parts(0, 1, 2, 3)
        assert bench.reasons(Kind.CALLBACK_BEGUN)[-1] == "assigned"
        assert any("no room" in event.reason for event in bench.emitted(Kind.WARNING))

    retries = Behaviour(on_error=OnError.RETRY)
    on_bench(body, assignors=lambda settings: (Forgetful(),), plugin_errors=PluginErrors.AS_KAFKA, behaviour=retries)


def test_a_users_own_assignor_runs_and_gets_its_assignment(on_bench):
    """The result of a custom assignor is sent, and every member's assignor gets its assignment."""
    mine = Mine()

    async def body(bench):
        await bench.stable()
        assert bench.consumer.assignment == parts(0, 1, 2, 3)
        assert mine.got == [(parts(0, 1, 2, 3), 1)]

    on_bench(body, assignors=lambda settings: (mine,))


@pytest.mark.parametrize(
    ("assignor", "words"),
    [
        (Mine(error=KeyError("oops")), "raised KeyError"),
        (Mine(result={"m1": ()}), "GroupAssignment"),
        (Mine(result=GroupAssignment({"m1": parts(0, 0)})), "twice"),
        (Mine(result=GroupAssignment({"m1": (), "absent": ()})), "no member"),
        (Mine(result=GroupAssignment({"m1": parts(99)})), "does not exist"),
    ],
)
def test_a_defective_assignor_ends_the_run_with_its_file_and_line(on_bench, assignor, words):
    """By default a defective plug-in ends the run, and the error names the place of the defect."""

    async def body(bench):
        await bench.stable()

    with pytest.raises(PluginError) as caught:
        on_bench(body, assignors=lambda settings: (assignor,))
    assert caught.value.assignor == "mine"
    assert words in caught.value.problem
    assert "test_leader.py:" in caught.value.where
    assert caught.value.generation == 1


def test_as_kafka_a_raising_assignor_is_thrown_from_poll(on_bench):
    """With plugin-errors as-kafka the exception ends the process, not the run."""

    async def body(bench):
        bench.consumer.start()
        await bench.consumer.ended()
        assert "raised KeyError" in bench.consumer.failed.reason
        assert len(bench.emitted(Kind.PLUGIN_ERROR)) == 1

    on_bench(
        body,
        assignors=lambda settings: (Mine(error=KeyError("oops")),),
        plugin_errors=PluginErrors.AS_KAFKA,
    )


def test_as_kafka_nonsense_is_sent_all_the_same(on_bench):
    """The Java client does not check an assignor's result; the trace records the defect."""

    async def body(bench):
        await bench.stable()
        assert "twice" in bench.emitted(Kind.PLUGIN_ERROR)[0].reason
        assert set(bench.consumer.assignment) == set(parts(0))

    nonsense = GroupAssignment({"m1": parts(0, 0)})
    on_bench(body, assignors=lambda settings: (Mine(result=nonsense),), plugin_errors=PluginErrors.AS_KAFKA)


def test_as_kafka_a_cooperative_violation_is_thrown(on_bench):
    """The Java client checks only that a custom cooperative assignor moves no partition in one round."""

    async def body(bench):
        def join(request):
            other = encode_subscription(Subscription(("t",), owned=parts(3), generation=1))
            mine = request.protocols[0].metadata
            members = (JoinMember("m1", None, mine), JoinMember("m9", None, other))
            return JoinGroupResponse(
                generation_id=2, protocol_name="mine", leader="m1", member_id="m1", members=members
            )

        bench.broker.reply(Api.JOIN_GROUP, None, join)
        bench.consumer.start()
        await bench.consumer.ended()
        assert "one round" in bench.consumer.failed.reason

    result = GroupAssignment({"m1": parts(0, 1, 2, 3), "m9": ()})
    on_bench(body, assignors=lambda settings: (Cooperative(result=result),), plugin_errors=PluginErrors.AS_KAFKA)


def test_the_leader_asks_for_topics_that_only_others_subscribe_to(on_bench):
    """With mixed subscriptions the leader fetches metadata of all the group's topics before it assigns."""

    async def body(bench):
        def join(request):
            other = encode_subscription(Subscription(("u",)))
            members = (JoinMember("m1", None, request.protocols[0].metadata), JoinMember("m9", None, other))
            return JoinGroupResponse(
                generation_id=1, protocol_name="range", leader="m1", member_id="m1", members=members
            )

        bench.broker.reply(Api.JOIN_GROUP, None, join)
        await bench.stable()
        [computed] = bench.emitted(Kind.ASSIGNMENT_COMPUTED)
        assert computed.payload["counts"] == {"m1": 4, "m9": 2}

    on_bench(body, topics={"t": 4, "u": 2})


def test_assignors_without_a_common_protocol_are_refused(on_bench):
    """Assignors without a common rebalance protocol are a configuration error, before anything runs."""

    async def body(bench):
        raise AssertionError("not reached")

    with pytest.raises(SettingError, match="no common rebalance protocol"):
        on_bench(body, assignors=lambda settings: (RoundRobinAssignor(), OnlyCooperative()))


def test_each_process_of_a_consumer_has_assignors_of_its_own(on_bench):
    """A restarted process has new assignors without state, and each process has its own."""
    made = []

    def assignors(settings):
        made.append(Mine())
        return made[-1:]

    async def body(bench):
        for processes in (1, 2, 3):
            await bench.stable()
            assert [len(mine.got) for mine in made] == [1] * processes
            bench.consumer.crash()
            await bench.run_for(50)

    on_bench(body, assignors=assignors)


def test_an_assignor_that_the_client_does_not_have_is_thrown_and_nothing_is_called_back(on_bench):
    """After an unconfigured assignor each poll throws again, adopts nothing, and heartbeats continue."""

    def unconfigured(request):
        return JoinGroupResponse(
            generation_id=2,
            protocol_type="consumer",
            protocol_name="stranger",
            leader="another",
            member_id=request.member_id,
        )

    async def body(bench):
        await bench.stable()
        bench.broker.reply(Api.JOIN_GROUP, unconfigured)
        bench.broker.follow(parts(0))
        bench.broker.rebalance()
        await bench.run_for(3.5)
        bench.broker.rebalancing = False
        await bench.run_for(5)
        threw = [reason for reason in bench.reasons(Kind.WARNING) if "IllegalStateException" in reason]
        assert len(threw) > 3
        assert "the coordinator selected assignor 'stranger'; configured: range, cooperative-sticky" in threw[0]
        assert bench.reasons(Kind.CALLBACK_BEGUN) == ["assigned", "revoked"]
        assert bench.consumer.assignment == ()
        assert bench.broker.last(Api.HEARTBEAT).generation_id == 2

    on_bench(body, behaviour=Behaviour(on_error=OnError.RETRY))
