"""The duration of a rollout: from the first stop to the last pod ready and the group stable."""

from __future__ import annotations

from collections.abc import Mapping

from groupsim.eventloop.trace.events import Kind
from groupsim.eventloop.units import SECOND_US
from groupsim.scenarios.loading.python_api import scenario
from groupsim.scenarios.runtime.runner import Run
from groupsim.scenarios.story import Rollout, Story, tell
from groupsim.scenarios.story.rebalances.rollouts import rollout_line
from tests.helpers.trace_builders import Tape, formed


def run_rollout(properties: Mapping[str, object] | None = None, run_for: str = "120s", **options: object) -> Run:
    """A rollout at 20 s; a pod takes 5 s to start, and 1 s to be ready."""
    draft = (
        scenario("rollout", run_for=run_for)
        .broker(version="3.9", **{"group.initial.rebalance.delay.ms": 0})
        .topic("t", partitions=4, rate="4/s")
        .group("g", members={"pod": {"count": 2}}, properties={"session.timeout.ms": 10_000, **(properties or {})})
    )
    return draft.at("20s").do("rolling-restart", start_time="5s", ready_time="1s", **options).run()


def rollout(run: Run) -> Rollout:
    """The only rollout of the run's story."""
    (one,) = tell(run.events).groups[0].rollouts
    return one


def test_the_end_is_one_event_with_the_step_for_its_cause() -> None:
    """`rollout.ended` comes with the last ready pod; it has the old and new pods and the time of the first stop."""
    run = run_rollout()
    (ended,) = [event for event in run.events if event.kind is Kind.ROLLOUT_ENDED]
    step = next(event for event in run.events if event.seq == ended.cause)
    assert (step.kind, step.t_us) == (Kind.ACTION, 20 * SECOND_US)
    assert ended.payload is not None
    assert (ended.payload["replaced"], ended.payload["pods"]) == (["pod-1", "pod-2"], ["pod-3", "pod-4"])
    stopped = min(event.t_us for event in run.events if event.kind is Kind.PROCESS_STOPPED)
    assert 0 <= stopped - ended.payload["first_stop_us"] < SECOND_US


def test_a_deployment_takes_from_its_first_stop_to_its_last_pod_in_a_stable_group() -> None:
    """Two pods, one after the other: the first stop comes when the first new one is ready, at 26 s."""
    one = rollout(run_rollout())
    assert one.first_stop_us is not None
    assert one.settled_us is not None
    assert 26 <= one.first_stop_us / SECOND_US < 27
    assert one.took_us == one.settled_us - one.first_stop_us
    assert (one.kind, one.pods, one.missing, one.dead) == ("deployment", 2, (), ())


def test_static_members_that_come_back_need_no_rebalance_to_be_at_rest() -> None:
    """The group never left Stable, so the rollout is over with its last pod."""
    one = rollout(run_rollout({"group.instance.id": "i-{n}"}, kind="statefulset"))
    assert one.took_us is not None
    assert 12 * SECOND_US <= one.took_us < 12.1 * SECOND_US
    assert one.settled_us == one.ready_us


def test_killed_members_are_waited_for() -> None:
    """The last pod is ready, and the group still has a dead member until its session ends."""
    one = rollout(run_rollout(kind="recreate", how="crash"))
    assert one.ready_us is not None
    assert one.took_us is not None
    assert one.ready_us == 26 * SECOND_US
    assert 7 * SECOND_US <= one.took_us <= 10.1 * SECOND_US


def test_a_rollout_that_outlives_the_run_is_named_as_not_over() -> None:
    """The headline names it as not over, without a length."""
    story = tell(run_rollout(run_for="24s").events)
    (one,) = story.groups[0].rollouts
    assert (one.ready_us, one.took_us) == (None, None)
    assert story.headline.endswith("; rollout not over when the run ended")
    assert rollout_line(one) == "rollout (deployment): not over when the run ended; began 0:20.000"


def test_the_headline_and_the_words_name_the_length() -> None:
    """The duration of a rollout is in the headline."""
    story = tell(run_rollout({"group.instance.id": "i-{n}"}, kind="statefulset").events)
    assert story.headline.endswith("; rollout took 12.0 s")
    assert rollout_line(story.groups[0].rollouts[0]) == (
        "rollout (statefulset) took 12.0 s: first stop 0:20.000, last of 2 pods ready 0:32.005, group stable by then"
    )


def test_a_rollout_without_a_pod_to_replace_gives_a_warning() -> None:
    """A rollout of a group without a running member gives a warning and no duration."""
    run = scenario("r", run_for="30s").topic("t").group("g", members={"pod": {"start": "never"}})
    done = run.at("20s").do("rolling-restart").run()
    (warning,) = [event for event in done.events if event.kind is Kind.WARNING]
    assert "has no target: no member of g runs" in (warning.reason or "")
    assert "rollout" not in tell(done.events).headline


def by_hand(tape: Tape) -> Tape:
    """Return a rollout of c2 at 0:20 whose pod c3 is ready at 0:30, in a group that has both as members."""
    step = tape.at(20).add(Kind.ACTION, payload={"do": "rolling-restart", "kind": "deployment"})
    tape.start("c3").join("c3", cause=step).prepare("c3", "ADD_MEMBER").complete("c1", "c2", "c3").stable()
    payload = {"kind": "deployment", "replaced": ["c2"], "pods": ["c3"], "first_stop_us": 25 * SECOND_US}
    tape.at(25).crash("c2").at(30).add(Kind.ROLLOUT_ENDED, group="g1", cause=step, payload=payload)
    return tape


def story_of(tape: Tape) -> Story:
    """Return its rollout."""
    return tell(tape.at(90).end())


def test_a_dead_member_that_stays_is_named() -> None:
    """The rollout's pods are ready, but the group still has a dead member."""
    story = story_of(by_hand(formed("c1", "c2")))
    (one,) = story.groups[0].rollouts
    assert (one.took_us, one.missing, one.dead) == (None, (), ("c2",))
    assert rollout_line(one).endswith("the group was never stable with all pods (dead and still a member: c2)")


def test_a_pod_that_does_not_get_in_is_named() -> None:
    """A pod may be ready, by its probe, and no member."""
    tape = by_hand(formed("c1", "c2")).at(40).remove("c2", "session-expired").prepare("c2", "HEARTBEAT_EXPIRED")
    tape.remove("c3", "join-timeout").at(45).complete("c1").stable()
    (one,) = story_of(tape).groups[0].rollouts
    assert (one.took_us, one.missing, one.dead) == (None, ("c3",), ())


def test_a_pod_whose_dead_life_is_still_a_member_is_missing() -> None:
    """The group's member of that name is dead; the process that runs now is no member."""
    tape = by_hand(formed("c1", "c2")).at(50).crash("c3").at(52).start("c3")
    (one,) = story_of(tape).groups[0].rollouts
    assert (one.took_us, one.missing, one.dead) == (None, ("c3",), ("c2", "c3"))


def test_the_second_round_of_a_cooperative_rebalance_belongs_to_the_rollout() -> None:
    """The group settles when the revoked partitions have new owners."""
    tape = by_hand(formed("c1", "c2")).at(40).remove("c2", "session-expired").prepare("c2", "HEARTBEAT_EXPIRED")
    tape.at(43).complete("c1", "c3").stable()
    words = "need to revoke partitions [orders-0] as indicated by the current assignment and re-join"
    tape.at(43.1).prepare("c1", "LEADER_REJOIN", words).at(46).complete("c1", "c3").stable()
    (one,) = story_of(tape).groups[0].rollouts
    assert (one.settled_us, one.took_us) == (46 * SECOND_US, 21 * SECOND_US)
