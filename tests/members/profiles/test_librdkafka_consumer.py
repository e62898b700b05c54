"""librdkafka under group.protocol=consumer, as its profile has it (docs/twins.md).

Facts: what librdkafka 2.16.1 sent in `tests/twins/facts/librdkafka-2.16.1-consumer`.
"""

from __future__ import annotations

from groupsim.eventloop.trace.events import Kind
from groupsim.eventloop.virtual import VirtualLoop
from groupsim.members.consumer.consumer import Consumer
from groupsim.members.failures import ClientFailure
from groupsim.members.profiles import PROFILES
from groupsim.members.settings import settings_from
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.consumer_group import ConsumerGroupHeartbeatRequest
from tests.helpers.consumer_member_bench import BEAT, ConsumerBench

PROFILE = "librdkafka-2.15"
E = ErrorCode


def bench_of(**properties: object) -> ConsumerBench:
    """A member of librdkafka's profile."""
    return ConsumerBench({name.replace("_", "."): value for name, value in properties.items()}, profile=PROFILE)


def is_full(beat: ConsumerGroupHeartbeatRequest) -> bool:
    """Whether a heartbeat has all fields."""
    return beat.rebalance_timeout_ms > 0 and None not in (beat.subscribed_topic_names, beat.topic_partitions)


def test_a_join_by_names_has_an_empty_regex_beside_them() -> None:
    """The heartbeat that joins has topics and an empty regular expression; later ones have neither."""
    bench = bench_of()
    bench.find_coordinator()
    assert (bench.beat.subscribed_topic_names, bench.beat.subscribed_topic_regex) == (("t",), "")
    bench.accept(1, [0])
    bench.accept(1)
    assert bench.next_beat().subscribed_topic_regex is None


def test_a_pattern_goes_to_the_coordinator_in_brackets() -> None:
    """Patterns are not matched by the client; names and patterns may replace each other."""
    profile = PROFILES[PROFILE]
    settings, _ = settings_from(profile, {"group.id": "g", "group.protocol": "consumer"}, pulls=False)
    consumer = Consumer(VirtualLoop(0), "c", settings, None, None, None, profile)  # type: ignore[arg-type]
    consumer.subscribe(["t"])
    consumer.subscribe(pattern="t.*")
    assert (consumer.subscription, consumer.subscribed_to_regex) == ("(^t.*$)", True)


def test_the_first_and_the_last_heartbeat_name_the_instance() -> None:
    """The heartbeats between have the member id alone; the last one has ids and epoch alone."""
    bench = ConsumerBench({"group.instance.id": "i"}, profile=PROFILE)
    bench.stable(0)
    bench.next_beat()
    bench.accept(1)
    bench.member.membership.prepare_leave()
    bench.member.membership.leave("closed")
    named = [beat.instance_id for beat in bench.beats]
    assert named == ["i", None, None, "i"]
    assert (bench.beat.member_epoch, bench.beat.topic_partitions, bench.beat.subscribed_topic_names) == (-2, None, None)


def test_a_refused_heartbeat_is_sent_again_as_it_was() -> None:
    """An acknowledgement that met a loading coordinator reports the partitions again, without the other fields."""
    bench = bench_of()
    bench.find_coordinator()
    bench.accept(1, [0])
    bench.refuse(E.COORDINATOR_LOAD_IN_PROGRESS)
    bench.advance_ms(2_000)
    assert (bench.reported, bench.beat.subscribed_topic_names) == ([0], None)


def test_a_member_without_an_assignment_sends_all_fields() -> None:
    """An empty first assignment is no news: no callback, and each heartbeat is complete until there are partitions."""
    bench = bench_of()
    bench.find_coordinator()
    bench.accept(1, [])
    assert bench.callbacks == []
    assert is_full(bench.next_beat())
    bench.accept(2, [0])
    bench.accept(2)
    assert not is_full(bench.next_beat())


def test_a_target_waits_for_the_names_of_all_its_topics() -> None:
    """A target with a topic that metadata lack is reconciled in part only where it takes partitions away."""
    bench = bench_of()
    bench.find_coordinator()
    bench.accept(1, {"t": [0], "unknown": [0]})
    assert (bench.state, bench.callbacks) == ("RECONCILING", [])
    bench = bench_of()
    bench.stable(0, 1)
    bench.next_beat()
    bench.accept(2, {"t": [0], "unknown": [0]})
    assert [kind for kind, _ in bench.callbacks] == ["assigned", "revoked", "assigned"]


def test_a_target_that_changes_nothing_is_not_acknowledged() -> None:
    """The same partitions after a target with an unknown topic: the next heartbeat has no partitions."""
    bench = bench_of()
    bench.stable(0)
    bench.next_beat()
    bench.accept(2, {"t": [0], "unknown": [0]})
    assert bench.next_beat().topic_partitions is None
    bench.accept(2, [0])
    assert (bench.state, bench.next_beat().topic_partitions) == ("STABLE", None)


def test_an_acknowledgement_waits_for_the_next_pass_of_the_main_thread() -> None:
    """It goes out after the look-up of offsets, which an error may answer before."""
    bench = bench_of()
    bench.find_coordinator()
    bench.accept(1, [0], poll=False)
    bench.poll()
    assert (bench.state, bench.count(BEAT)) == ("ACKNOWLEDGING", 1)
    bench.advance_ms(1)
    assert bench.reported == [0]


def test_a_refused_join_waits_for_the_backoff() -> None:
    """A heartbeat with epoch 0 that was refused follows after the backoff, not at once."""
    bench = bench_of()
    bench.find_coordinator()
    bench.refuse(E.TOPIC_AUTHORIZATION_FAILED)
    assert bench.count(BEAT) == 1
    bench.advance_ms(2_000)
    assert bench.count(BEAT) == 2


def test_an_error_that_it_survives_is_thrown_once_in_five_seconds() -> None:
    """The second TOPIC_AUTHORIZATION_FAILED in a row is not the application's to hear."""
    bench = bench_of()
    bench.find_coordinator()
    bench.refuse(E.TOPIC_AUTHORIZATION_FAILED)
    callbacks = bench.membership.callbacks
    assert callbacks.pending
    callbacks.clear()
    bench.advance_ms(2_000)
    bench.refuse(E.TOPIC_AUTHORIZATION_FAILED)
    assert not callbacks.pending


def test_an_old_generation_costs_all_partitions() -> None:
    """ILLEGAL_GENERATION from a commit loses partitions, and the member joins again with epoch 0."""
    bench = bench_of()
    bench.stable(0)
    bench.member.membership.reset("", member_id_too=False)
    bench.poll()
    assert [kind for kind, _ in bench.callbacks] == ["assigned", "lost"]
    assert bench.beat.member_epoch == 0


def test_a_fenced_member_beyond_the_poll_limit_leaves_before_it_joins() -> None:
    """Fenced while its application is away: partitions are lost, the limit is reported, it leaves and joins."""
    bench = bench_of(max_poll_interval_ms=6_000)
    bench.stable(0)
    bench.member.membership.leave_poll()
    bench.next_beat()
    bench.refuse(E.FENCED_MEMBER_EPOCH)
    bench.advance_ms(6_000)
    bench.poll()
    bench.accept(-1)
    assert [beat.member_epoch for beat in bench.beats[-2:]] == [-1, 0]


def test_a_fatal_error_is_thrown_for_good_without_a_callback() -> None:
    """After a fatal error nothing is called lost, and each poll throws."""
    bench = bench_of()
    bench.stable(0)
    bench.next_beat()
    bench.refuse(E.GROUP_AUTHORIZATION_FAILED)
    failure = bench.member.failure
    assert isinstance(failure, ClientFailure)
    assert (failure.error, failure.lasting) == ("GroupAuthorizationException", True)
    assert [kind for kind, _ in bench.callbacks] == ["assigned"]


def test_a_join_that_was_not_answered_is_not_left() -> None:
    """A member that unsubscribes before its join was answered sends no heartbeat that leaves."""
    bench = bench_of()
    bench.find_coordinator()
    bench.member.membership.prepare_leave()
    bench.member.membership.leave("unsubscribed")
    assert (bench.count(BEAT), bench.state) == (1, "UNSUBSCRIBED")


def test_beyond_the_poll_limit_heartbeats_go_on_until_the_application_polls() -> None:
    """When it polls the limit is reported, partitions are lost, and the member leaves and joins."""
    bench = bench_of(max_poll_interval_ms=6_000)
    bench.stable(0)
    bench.member.membership.leave_poll()
    for _ in range(2):
        assert bench.next_beat().member_epoch == 1
        bench.accept(1, poll=False)
    bench.poll()
    assert [event.kind for event in bench.events if event.kind is Kind.POLL_EXPIRED] == [Kind.POLL_EXPIRED]
    assert [kind for kind, _ in bench.callbacks] == ["assigned", "lost"]
    bench.accept(-1)
    assert [beat.member_epoch for beat in bench.beats[-2:]] == [-1, 0]


def test_up_to_2_14_an_unexpected_error_is_retried() -> None:
    """GROUP_ID_NOT_FOUND is no error for the application of 2.12, and the next heartbeat follows; that of 2.15 ends."""
    before = ConsumerBench({}, profile="librdkafka-2.12")
    before.stable(0)
    before.next_beat()
    before.refuse(E.GROUP_ID_NOT_FOUND)
    assert (before.member.failure, before.state) == (None, "STABLE")
    before.advance_ms(6_000)
    assert before.count(BEAT) == 4
    since = bench_of()
    since.stable(0)
    since.next_beat()
    since.refuse(E.GROUP_ID_NOT_FOUND)
    assert since.state == "FATAL"
