"""A mistake in a test is reported at once, with the nearest right name; and a test that ran can fail."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attrs import fields

from groupsim import PROFILES, Behaviour, ErrorCode, PluginError, SettingError, Simulation
from groupsim.assignors import Assignor, AssignorError, GroupAssignment, RangeAssignor
from groupsim.faults import After, AnswerError, Break, Direction, Isolate, LoseResponse, Match, Stall
from groupsim.requests import Api, HeartbeatRequest
from groupsim.testing.application import Application
from groupsim.testing.failure_report import ids_of

pytest_plugins = ["pytester"]

MARKED = """
    import pytest

    @pytest.mark.sim({arguments})
    async def test_marked(sim):
        await sim.run_for("1s")
"""
MARKER_MISTAKES = [
    ("seeed=3", "*no argument of a simulation 'seeed'; did you mean `seed`?*"),
    ("3", "*@pytest.mark.sim(3): write the name before the value*"),
    ('seed="x"', "*seed='x': a seed is a whole number*"),
    ('broker={"group.inital.rebalance.delay.ms": 0}', "*did you mean group.initial.rebalance.delay.ms?*"),
    ('broker={"version": "9.9"}', "*newer than any modelled release*"),
    ('latency="5 bananas"', "*@pytest.mark.sim: *5 bananas*"),
    ('logs="count"', "*@pytest.mark.sim: *logs*"),
]


class LastGetsAll(Assignor):
    """Everything goes to the member listed last."""

    name = "last-gets-all"

    def assign(self, topics: Any, members: Any) -> GroupAssignment:
        whole = RangeAssignor().assign(topics, members[-1:]).partitions
        return GroupAssignment({member.member_id: whole.get(member.member_id, ()) for member in members})


@pytest.mark.parametrize(("arguments", "shown"), MARKER_MISTAKES)
def test_a_mistake_in_the_marker_is_an_error_even_if_the_cluster_is_never_used(
    pytester: pytest.Pytester, arguments: str, shown: str
) -> None:
    """Misspelt, nameless and impossible arguments end the test before it runs, in a line without a traceback."""
    pytester.makepyfile(MARKED.format(arguments=arguments))
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([shown])
    assert "Traceback" not in result.stdout.str()


def test_markers_of_module_class_and_test_add_up(pytester: pytest.Pytester) -> None:
    """A module says the broker's settings, a test its seed: both hold, and the nearest wins where they meet."""
    pytester.makepyfile(
        """
        import pytest
        pytestmark = pytest.mark.sim(brokers=3, seed=1)

        @pytest.mark.sim(seed=7)
        async def test_marked(sim):
            assert (sim.seed, sim.brokers) == (7, 3)
        """
    )
    pytester.runpytest_inprocess("-p", "no:cacheprovider").assert_outcomes(passed=1)


def test_one_test_meets_several_brokers(pytester: pytest.Pytester) -> None:
    """`parametrize("sim", …, indirect=True)` gives a test one simulation after the other, above what markers say."""
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.sim(brokers=3)
        @pytest.mark.parametrize("sim", [{"broker": {"version": "2.6"}}, {"brokers": 1}], indirect=True)
        async def test_marked(sim):
            assert (sim.brokers, len(sim.broker)) in [(3, 1), (1, 0)]
        """
    )
    pytester.runpytest_inprocess("-p", "no:cacheprovider").assert_outcomes(passed=2)


def test_a_misspelt_argument_of_a_lab_is_an_error_before_its_start(pytester: pytest.Pytester) -> None:
    """The marker of served clusters is checked as that of simulated ones."""
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.kafka_lab(topic={"orders": 4})
        def test_marked(kafka_lab):
            pass
        """
    )
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*no argument of a lab 'topic'; did you mean `topics`?*"])


def test_a_step_without_await_fails_the_test_that_forgot_it(pytester: pytest.Pytester) -> None:
    """An async test fails and a sync one errs at its end, both with the call and its line, and without a warning."""
    pytester.makepyfile(
        test_forgetful="""
        async def test_async(sim):
            sim.topic("orders", 2)
            sim.member("c1")
            sim.stable("g1", members=1)

        def test_sync(sim):
            sim.run_for("10s")
        """
    )
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-W", "error")
    result.assert_outcomes(failed=1, passed=1, errors=1)
    result.stdout.fnmatch_lines(
        ["*not awaited*sim.run_for('10s') at test_forgetful.py:7*", "*sim.stable('g1') at test_forgetful.py:4*"],
        consecutive=False,
    )


@pytest.mark.filterwarnings("ignore::groupsim.FaultStruckNothing")
async def test_a_fault_for_a_host_that_is_not_there_is_refused(sim: Simulation) -> None:
    """A misspelt host or peer is an error that names the nearest; patterns are, too, when nothing fits them."""
    sim.topic("orders", 2)
    sim.member("consumer-1")
    with pytest.raises(ValueError, match=r"no host 'consumer1'; did you mean `consumer-1`\?"):
        sim.inject(Isolate(Match(host="consumer1")))
    with pytest.raises(ValueError, match="no host 'broker-7'"):
        sim.inject(Break(Match(peer="broker-7")))
    with pytest.raises(ValueError, match=r"no host 'pod-\*'"):
        sim.inject(Isolate(Match(host="pod-*")))
    assert sim.inject(AnswerError(Match(host="consumer-*", api=Api.HEARTBEAT), ErrorCode.NONE)).hits == 0


async def test_a_member_that_cannot_be_is_refused(sim: Simulation) -> None:
    """No topic yet, an existing name, misspelt settings and behaviour, invalid partitions: each is an error."""
    with pytest.raises(ValueError, match="c1 would subscribe to no topic: make a topic first"):
        sim.member("c1")
    sim.topic("orders", 2)
    with pytest.raises(ValueError, match=r"topics='orders': write a list, \['orders'\]"):
        sim.member("c1", topics="orders")
    with pytest.raises(SettingError, match=r"session\.timeout = 10: .*did you mean session\.timeout\.ms\?"):
        sim.member("c1", properties={"session.timeout": 10})
    with pytest.raises(ValueError, match="behaviour 'proccessing'; did you mean `processing`"):
        sim.member("c1", proccessing="5ms")
    with pytest.raises(ValueError, match=r"session_timeout_ms is a setting: properties={'session.timeout.ms': 6000}"):
        sim.member("c1", session_timeout_ms=6_000)
    with pytest.raises(ValueError, match=r"instance_id is a setting: properties={'group.instance.id': 'c1'}"):
        sim.member("c1", instance_id="c1")
    with pytest.raises(ValueError, match="'assigner'; did you mean `assignors`"):
        sim.member("c1", assigner="range")
    with pytest.raises(ValueError, match="commit='nevver'; did you mean `never`"):
        sim.member("c1", commit="nevver")
    with pytest.raises(ValueError, match="on_revoked=5 has no unit"):
        sim.member("c1", on_revoked=5)
    with pytest.raises(ValueError, match="'orders' is not a partition"):
        sim.member("c1", assign=["orders"])
    with pytest.raises(AssignorError, match="no assignor"):
        sim.member("c1", assignors=[dict])  # type: ignore[list-item]
    member = sim.member("c1")
    with pytest.raises(ValueError, match="the member 'c1' exists"):
        sim.member("c1")
    with pytest.raises(ValueError, match=r"topics='orders': write a list, \['orders'\]"):
        member.subscribe("orders")


async def test_a_profile_and_an_assignor_of_ones_own_need_no_name(sim: Simulation) -> None:
    """A changed `ClientProfile` and an assignor class are given as they are."""
    sim.topic("orders", 4)
    stays = PROFILES["java"].but(name="java that stays", leaving={"on_close": False})
    first = sim.member("c1", client=stays, assignors=[LastGetsAll])
    second = sim.member("c2", client=stays, assignors=[LastGetsAll])
    await sim.settled(members=2)
    assert sorted([len(first.assignment), len(second.assignment)]) == [0, 4]
    await second.close()
    await sim.run_for("1s")
    assert sim.find("request.sent", api="LeaveGroup") == []


async def test_settled_waits_for_callbacks_and_the_second_cooperative_round(sim: Simulation) -> None:
    """Stable is the coordinator's word; settled members have their partitions, and want no other round."""
    sim.topic("orders", 4)
    own = {"partition.assignment.strategy": "cooperative-sticky"}
    first = sim.member("c1", properties=own, on_revoked="2s", on_assigned="1s")
    await sim.stable(members=1)
    assert first.assignment == ()
    await sim.settled(members=1)
    assert len(first.assignment) == 4
    second = sim.member("c2", properties=own, on_assigned="1s")
    await sim.settled(members=2)
    assert (len(first.assignment), len(second.assignment)) == (2, 2)


async def test_expectations_of_scenario_files_are_assertions(sim: Simulation) -> None:
    """An expectation that holds passes; a failed one raises with the found value; a misspelt one is an error."""
    sim.topic("orders", 4, rate=10)
    sim.member("c1")
    await sim.settled(members=1)
    sim.expect("every-partition-owned")
    sim.expect("no_two_owners")
    sim.expect("lost", 0)
    sim.expect("owner", partition="orders-0", is_="c1")
    with pytest.raises(AssertionError, match=r"expected orders-0 owned by c2 .*; found c1"):
        sim.expect("owner", partition="orders-0", is_="c2")
    with pytest.raises(AssertionError, match="expected generation: >= 4; found 1"):
        sim.expect("generations", ">= 4")
    with pytest.raises(ValueError, match="no expectation 'losst'; did you mean `lost`"):
        sim.expect("losst", 0)
    with pytest.raises(ValueError, match="unknown key `partion`; did you mean `partition`"):
        sim.expect("owner", partion="orders-0", is_="c1")


async def test_what_is_not_found_says_what_there_is(sim: Simulation) -> None:
    """An empty answer of `find` shows, in a failed assertion, which values the events of that kind have."""
    sim.topic("orders", 2)
    sim.member("c1").crash()
    sim.member("c2")
    await sim.stable(members=1)
    assert repr(sim.find("process.crashed", reason="oom")) == (
        "[] (none of 1 process.crashed has reason='oom'; there are: reason='killed')"
    )
    assert repr(sim.find("member.fenced")) == "[] (there is no event member.fenced)"
    assert sim.find("member.fenced") == []


async def test_partitions_may_be_written_as_text(sim: Simulation) -> None:
    """A consumer that chooses its partitions itself may choose others later, as text too; one name is no list."""
    sim.topic("orders", 2)
    member = sim.member("c1", assign=["orders-0"])
    member.assign(["orders-1"])
    await sim.until(lambda: [str(one) for one in member.assignment] == ["orders-1"])
    with pytest.raises(ValueError, match=r"partitions='orders-0': write a list, \['orders-0'\]"):
        member.assign("orders-0")


# --- words instead of values -------------------------------------------------------------------------------------


async def test_faults_take_names_and_durations_as_text(sim: Simulation) -> None:
    """What a test author writes as text means the same as the value, and strikes."""
    assert Match(api="SyncGroup") == Match(api=Api.SYNC_GROUP)
    assert AnswerError(Match(), "UNKNOWN_MEMBER_ID") == AnswerError(Match(), ErrorCode.UNKNOWN_MEMBER_ID)
    assert LoseResponse(Match(), "silence") == LoseResponse(Match(), After.SILENCE)
    assert Stall(Match(), "out", for_us="1m30s") == Stall(Match(), Direction.OUT, for_us=90_000_000)
    sim.topic("orders", 2)
    sim.member("c1")
    fault = sim.inject(AnswerError(Match(api="JoinGroup", nth=2), "REBALANCE_IN_PROGRESS"))
    await sim.settled(members=1)
    assert fault.hits == 1


@pytest.mark.parametrize(
    ("make", "shown"),
    [
        (lambda: Match(api="SynGroup"), "no request 'SynGroup'; did you mean 'SyncGroup'"),
        (lambda: Match(api=14), "no request 14; see groupsim.requests.Api"),
        (lambda: AnswerError(Match(), "UNKNOWN_MEMBER"), "no error code 'UNKNOWN_MEMBER'; did you mean 'UNKNOWN_MEMB"),
        (lambda: LoseResponse(Match(), "silent"), "no end of a connection 'silent'; did you mean 'silence'"),
        (lambda: Stall(Match(), "inn"), "no direction 'inn'; did you mean 'in'"),
        (lambda: Isolate(Match(), for_us="60"), "'60' is not a duration"),
    ],
)
def test_a_misspelt_word_of_a_fault_is_an_error(make: Callable[[], object], shown: str) -> None:
    """An unknown request, error or direction is an error with the nearest one."""
    with pytest.raises(ValueError, match=shown):
        make()


async def test_a_member_takes_durations_and_behaviour_as_text(sim: Simulation) -> None:
    """A pause, a callback that takes longer, another behaviour: as text; an unknown callback is an error."""
    sim.topic("orders", 2, rate=10)
    member = sim.member("c1")
    await sim.settled(members=1)
    member.change_behaviour(processing="20ms", commit="never")
    member.pause("5s")
    await sim.run_for("4s")
    assert member.host.paused
    with pytest.raises(ValueError, match="no callback 'revokd'; there are assigned, revoked, lost"):
        member.block_callback("revokd", "5s")


async def test_a_close_that_is_not_awaited_is_an_error(sim: Simulation) -> None:
    """`member.close()` without `await` does nothing, and the test fails."""
    sim.topic("orders", 1)
    member = sim.member("c1")
    member.close()
    with pytest.raises(AssertionError, match=r"not awaited, .*: c1\.close\(\) at test_mistakes_in_tests\.py:\d+"):
        sim.complain()


async def test_a_missing_answer_is_an_error(sim: Simulation) -> None:
    """`.answer` of a raw request is the answer; before its arrival it raises."""
    sent = sim.send(HeartbeatRequest("g1", 1, "unknown"))
    with pytest.raises(AssertionError, match="no answer yet to HeartbeatRequest"):
        assert sent.answer
    await sim.until(lambda: sent.answered)
    assert sent.answer.error is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_fault_without_a_hit_is_a_warning(pytester: pytest.Pytester) -> None:
    """A test that holds with a fault that never struck holds without it as well: a warning says so."""
    pytester.makepyfile(
        """
        from groupsim.cluster.network.faults import LoseResponse, Match

        async def test_holds(sim):
            sim.topic("orders", 2)
            sim.member("c1")
            sim.inject(LoseResponse(Match(api="SyncGroup", nth=9)))
            await sim.settled(members=1)
        """
    )
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-W", "error")
    result.assert_outcomes(passed=1, errors=1)
    shown = "*FaultStruckNothing: a fault had no hit: lose the response to SyncGroup number 9 of*1 that matched*"
    result.stdout.fnmatch_lines([shown])


async def test_an_invalid_predicate_or_rate_is_an_error(sim: Simulation) -> None:
    """`sim.until` of a value, and a topic with an invalid rate, are errors with the remedy."""
    with pytest.raises(ValueError, match=r"sim\.until\(False\): not a function"):
        sim.until(sim.state() == "Stable")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"no state of a group 'AwaitingSync'; .*CompletingRebalance"):
        sim.in_state("AwaitingSync")
    with pytest.raises(ValueError, match=r"a rate of '100 per second': write a number.* such as 10/s"):
        sim.topic("orders", 2, rate="100 per second")


@pytest.mark.parametrize(("rate", "per_second"), [(10, 10), ("10", 10), ("10/s", 10), ("30/min", 0.5), ("1.5/s", 1.5)])
async def test_a_rate_can_be_written_as_in_a_scenario(sim: Simulation, rate: int | str, per_second: float) -> None:
    """What is pasted from a scenario means the same in a test; a bare number is records per second."""
    sim.topic("orders", 1, rate=rate)
    sim.member("c1", properties={"auto.offset.reset": "earliest"})
    await sim.stable("g1", members=1)
    await sim.run_for("57s")
    assert sim.story().groups[0].delivered == pytest.approx(per_second * 60, abs=1 + per_second)


def test_sleeps_of_other_loops_are_errors_with_the_remedy(pytester: pytest.Pytester) -> None:
    """asyncio.sleep and trio.sleep end the test with the call that lets virtual time pass; so does a test without."""
    pytester.makepyfile(
        """
        import asyncio, trio

        async def test_asyncio(sim):
            await asyncio.sleep(5)

        async def test_trio(sim):
            await trio.sleep(5)

        def test_nothing(sim):
            sim.topic("orders", 2)
            assert sim.member("c1").state == "STABLE"
        """
    )
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider")
    result.assert_outcomes(failed=3)
    result.stdout.fnmatch_lines(
        [
            "*no running event loop",
            "*a test with `sim` runs in virtual time: `await sim.run_for(*",
            "*timeout (in a test: sim.run_for*",
            "no time has passed: await a method that lets time pass*",
        ]
    )


# --- a plugin of the author's own --------------------------------------------------------------------------------


class Fails(LastGetsAll):
    """Raises at the second round."""

    name = "fails"
    rounds = 0

    def assign(self, topics: Any, members: Any) -> GroupAssignment:
        self.rounds += 1
        if self.rounds == 2:
            raise KeyError("orders")
        return super().assign(topics, members)


async def test_an_assignor_that_fails_may_be_met_as_kafka_would(sim: Simulation) -> None:
    """With `plugin_errors="as-kafka"` its consumer hears a KafkaException, and the others go on without it."""
    sim.topic("orders", 2)
    first = sim.member("c1", assignors=[Fails], plugin_errors="as-kafka")
    await sim.settled(members=1)
    second = sim.member("c2", assignors=[Fails], plugin_errors="as-kafka")
    await sim.until(lambda: first.failed)
    assert first.failed is not None
    assert (first.failed.error, first.failed.reason) == (
        "KafkaException",
        "assignor 'fails': raised KeyError: 'orders'",
    )
    await sim.settled(members=1)
    assert len(second.assignment) == 2
    with pytest.raises(ValueError, match="no plugin_errors 'kafka'; did you mean `as-kafka`"):
        sim.member("c3", assignors=[Fails], plugin_errors="kafka")  # type: ignore[arg-type]


def test_a_failed_assignor_is_shown_without_our_frames() -> None:
    """What ends a run because of a plugin shows the plugin's frames, as its cause, and none between."""

    async def story(sim: Simulation) -> None:
        sim.topic("orders", 2)
        sim.member("c1", assignors=[Fails])
        await sim.settled(members=1)
        sim.member("c2", assignors=[Fails])
        await sim.settled(members=2)

    with pytest.raises(PluginError, match=r"assignor 'fails' .*raised KeyError: 'orders'") as failure:
        Simulation().run(story)
    assert {entry.path.name for entry in failure.traceback} <= {Path(__file__).name, "simulation.py"}
    cause = failure.value.__cause__
    assert cause is not None
    assert traceback.extract_tb(cause.__traceback__)[-1].name == "assign"


def test_a_behaviour_has_a_type_for_each_of_its_fields() -> None:
    """What type checkers and editors know of `sim.member(…)` is what `Behaviour` has."""
    assert list(Application.__annotations__) == [one.name for one in fields(Behaviour)]


async def test_an_id_that_was_handed_out_is_shown_as_its_process(sim: Simulation) -> None:
    """A client dies before it hears of its member id: the report names the client all the same."""
    sim.topic("orders", 2)
    sim.member("c1").crash()
    member = sim.member("c2")
    await sim.until(lambda: sim.find("member.pending"))
    member.crash()
    assert list(ids_of(sim.events).values()) == ["c2"]
