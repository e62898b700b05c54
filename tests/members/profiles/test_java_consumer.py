"""What releases of the asynchronous Java consumer do otherwise, row by row.

Facts: `CommitRequestManager`, `ConsumerHeartbeatRequestManager`, `AbstractMembershipManager`, `ConsumerMetadata` of
Kafka 4.0.2, 4.1.1, 4.2.1 and 4.3.1, and what real clients 4.0.2, 4.2.1 and 4.4.0 sent (tests/twins).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from groupsim.eventloop.trace.events import Kind
from groupsim.eventloop.trace.trace import NORMAL, Trace
from groupsim.eventloop.virtual import run_virtual
from groupsim.members.profiles import PROFILES, profile_under
from groupsim.members.profiles.reactions import Reaction
from groupsim.members.subscription import Regex
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import Api, MetadataRequest
from tests.helpers.consumer_fakes import ConsumerGroupBench
from tests.helpers.consumer_member_bench import ConsumerBench
from tests.helpers.members_fakes import error_answer
from tests.helpers.membership_bench import id_of

RELEASES = ("java-4.0", "java-4.1", "java-4.2", "java-4.3", "java-4.x")


def of_each(*values: object) -> list[tuple[str, object]]:
    """Return each release with its value."""
    return list(zip(RELEASES, values, strict=True))


def run(body: Callable[[ConsumerGroupBench], Awaitable[None]]) -> None:
    """Run a body with a consumer of the newest release."""

    async def main(loop: Any) -> None:
        await body(ConsumerGroupBench(loop))

    run_virtual(main, seed=0, trace=Trace(NORMAL))


@pytest.mark.parametrize(("release", "version"), of_each(9, 9, 10, 10, 10))
def test_commits_name_topics_by_id_since_4_2(release: str, version: int) -> None:
    """OffsetCommit and OffsetFetch are of version 9 before; to that an error about topic ids is unexpected."""
    profile = profile_under(PROFILES[release], "consumer")
    assert (profile.versions[Api.OFFSET_COMMIT], profile.versions[Api.OFFSET_FETCH]) == (version, version)
    unknown = profile.reaction(Api.OFFSET_COMMIT, ErrorCode.UNKNOWN_TOPIC_ID)
    assert unknown is (Reaction.THROW if version == 9 else Reaction.RETRY)


@pytest.mark.parametrize(("release", "rack"), of_each(None, *["east"] * 4))
def test_a_join_has_the_rack_since_4_1(release: str, rack: str | None) -> None:
    """4.0 does not send `client.rack` to the coordinator."""
    bench = ConsumerBench({"client.rack": "east"}, profile=release)
    bench.find_coordinator()
    assert bench.beat.rack_id == rack


@pytest.mark.parametrize(("release", "everything"), of_each(True, *[False] * 4))
def test_a_regex_asks_for_all_topics_in_4_0(release: str, everything: bool) -> None:
    """Since 4.1 a member with a regular expression asks for metadata by the ids of its target."""
    bench = ConsumerBench(profile=release)
    bench.member.subscription.change(Regex("t.*"))
    bench.find_coordinator()
    bench.accept(1, [0])
    bench.advance_ms(1_000)
    bench.member.metadata.refresh()
    *_, asked = [request for request in bench.sent if isinstance(request, MetadataRequest)]
    assert (asked.topics, asked.topic_ids) == ((None, ()) if everything else ((), (id_of("t"),)))


@pytest.mark.parametrize(("release", "at_once"), of_each(True, True, False, False, False))
def test_a_round_that_revokes_waits_for_poll_since_4_2(release: str, at_once: bool) -> None:
    """Without auto-commit revoked partitions are consumed no more from the answer on, or from the next poll on."""
    bench = ConsumerBench(profile=release)
    bench.stable(0, 1)
    bench.next_beat()
    bench.accept(2, [0], poll=False)
    held = sorted(partition.partition for partition in bench.member.fetcher._held)
    assert held == ([1] if at_once else [])


@pytest.mark.parametrize(("release", "fatal"), of_each(True, True, False, False, False))
def test_a_group_that_is_gone_is_fatal_to_a_member_that_has_left_up_to_4_1(release: str, fatal: bool) -> None:
    """GROUP_ID_NOT_FOUND in the answer to the heartbeat that leaves."""
    bench = ConsumerBench(profile=release)
    bench.stable(0, 1)
    bench.member.membership.prepare_leave()
    bench.member.membership.leave("unsubscribed")
    bench.refuse(ErrorCode.GROUP_ID_NOT_FOUND)
    assert bench.state == ("FATAL" if fatal else "UNSUBSCRIBED")


def test_an_auto_commit_that_failed_waits_for_the_interval() -> None:
    """The client expects an exception that no request ends with, so that no backoff follows a retriable error."""

    async def body(bench: ConsumerGroupBench) -> None:
        await bench.stable()
        loading = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        bench.broker.reply(Api.OFFSET_COMMIT, lambda request: error_answer(request, loading))
        await bench.run_for(11)
        first, second, *_ = bench.broker.times(Api.OFFSET_COMMIT)
        assert second - first == pytest.approx(5_000_000, abs=10_000)

    run(body)


def test_a_callback_that_throws_does_not_keep_a_member_from_leaving() -> None:
    """`AsyncKafkaConsumer.close` goes on after the revoked callback threw, and throws at its end."""

    async def body(bench: ConsumerGroupBench) -> None:
        await bench.stable()
        bench.consumer.raise_in_callback("revoked", "once")
        await bench.consumer.close()
        assert bench.broker.all(Api.CONSUMER_GROUP_HEARTBEAT)[-1].member_epoch == -1
        assert "close threw" in str(bench.reasons(Kind.WARNING)[-1:])

    run(body)
