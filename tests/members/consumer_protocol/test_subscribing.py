"""A member of a consumer group subscribes by a regular expression or a pattern: what its heartbeats and requests have.

Facts: `SubscriptionPattern`, `ConsumerHeartbeatRequestManager.HeartbeatState`, `ConsumerMetadata` of Kafka 4.4.0.
"""

from __future__ import annotations

import pytest

from groupsim.eventloop.virtual import VirtualLoop
from groupsim.members.consumer.consumer import Consumer
from groupsim.members.consumer_protocol.fields import is_plain
from groupsim.members.failures import ClientFailure
from groupsim.members.profiles import PROFILES
from groupsim.members.settings import SettingError, settings_from
from groupsim.members.subscription import Pattern, Regex, Topics
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import Api, MetadataRequest
from tests.helpers.consumer_member_bench import BEAT, ConsumerBench
from tests.helpers.membership_bench import id_of


def bench_of(regex: str) -> ConsumerBench:
    """A member that subscribes to a regular expression."""
    bench = ConsumerBench()
    bench.member.subscription.change(Regex(regex))
    return bench


def test_a_join_carries_the_regex_beside_an_empty_list_of_names():
    """The heartbeat that joins has the text as it is, and names as an empty list, not null."""
    bench = bench_of("t(")
    bench.find_coordinator()
    assert (bench.beat.subscribed_topic_regex, bench.beat.subscribed_topic_names) == ("t(", ())


def test_a_regex_is_sent_again_when_it_changes_and_as_nothing_when_it_ends():
    """A later heartbeat has the new text alone; "" takes the text back when names follow it."""
    bench = bench_of("t.*")
    bench.stable(0)
    assert bench.next_beat().subscribed_topic_regex is None
    bench.accept(1)
    bench.member.subscription.change(Regex("u.*"))
    changed = bench.next_beat()
    assert (changed.subscribed_topic_regex, changed.subscribed_topic_names) == ("u.*", None)
    bench.accept(1)
    bench.member.subscription.change(Topics(("t",)))
    named = bench.next_beat()
    assert (named.subscribed_topic_regex, named.subscribed_topic_names) == ("", ("t",))


def test_a_heartbeat_with_a_regex_is_traced():
    """A heartbeat that changes the regex is not taken for one that only keeps the session."""
    bench = bench_of("t.*")
    bench.stable(0)
    bench.member.subscription.change(Regex("u.*"))
    assert not is_plain(bench.next_beat())


def test_metadata_are_requested_by_the_ids_of_the_target():
    """Before there is a target a member with a regex asks for no topic, then for those that it was assigned, by id."""
    bench = bench_of("t.*")
    bench.find_coordinator()
    before = bench.count(Api.METADATA)
    bench.accept(1, {"t": [0], "tea": [0]})
    bench.advance_ms(1_000)
    asked = [request for request in bench.sent if isinstance(request, MetadataRequest)][before:]
    assert [(request.topics, set(request.topic_ids)) for request in asked] == [((), {id_of("t"), id_of("tea")})]


def test_a_broker_without_regular_expressions_ends_the_membership():
    """With version 0 of the heartbeat nothing is sent, and poll throws UnsupportedVersionException."""
    bench = bench_of("t.*")
    bench.member.versions = {BEAT: 0}
    bench.find_coordinator()
    assert (bench.count(BEAT), bench.state) == (0, "FATAL")
    with pytest.raises(ClientFailure, match="to allow to subscribe to a SubscriptionPattern"):
        bench.poll()


def test_a_regex_that_the_broker_refuses_ends_the_membership():
    """INVALID_REGULAR_EXPRESSION is thrown from poll with the coordinator's words."""
    bench = bench_of("t(")
    bench.find_coordinator()
    bench.refuse(ErrorCode.INVALID_REGULAR_EXPRESSION, "SubscribedTopicRegex `t(` is not a valid regular expression")
    assert bench.state == "FATAL"
    with pytest.raises(ClientFailure, match="`t\\(`"):
        bench.poll()


def test_a_pattern_is_matched_in_poll():
    """A `java.util.regex.Pattern` is matched by the client, in the poll after newer metadata, not when they come."""
    bench = ConsumerBench()
    bench.member.subscription.change(Pattern("t.*"))
    bench.stable(0)
    bench.member.metadata.refresh()
    bench.topics(t=4, tea=1)
    assert bench.next_beat().subscribed_topic_names is None
    bench.accept(1)
    assert bench.next_beat().subscribed_topic_names == ("t", "tea")


def consumer_with(protocol: str) -> Consumer:
    """A consumer that does not run."""
    profile = PROFILES["java-4.x"]
    settings, _ = settings_from(profile, {"group.id": "g", "group.protocol": protocol}, pulls=False)
    return Consumer(VirtualLoop(0), "c", settings, None, None, None, profile)  # type: ignore[arg-type]


def test_the_classic_protocol_has_no_regex():
    """A classic consumer refuses the subscription, with the setting that it needs."""
    with pytest.raises(SettingError, match=r"group\.protocol: consumer"):
        consumer_with("classic").subscribe(regex="t.*")


def test_a_regex_and_names_exclude_each_other():
    """As in Java a consumer has to unsubscribe before it changes between names and a regex."""
    consumer = consumer_with("consumer")
    consumer.subscribe(["t"])
    with pytest.raises(RuntimeError, match="mutually exclusive"):
        consumer.subscribe(regex="t.*")
    consumer.unsubscribe()
    consumer.subscribe(regex="t.*")
    assert (consumer.subscription, consumer.subscribed_to_regex) == ("t.*", True)
