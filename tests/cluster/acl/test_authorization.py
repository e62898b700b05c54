"""A broker with an authorizer: which requests reach their handlers. (The answers of each API: tests/conformance.)"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from groupsim.cluster.acl.checks import authorization_of
from groupsim.cluster.acl.offsets import in_place
from groupsim.cluster.config.acl import STANDARD, AclConfig
from groupsim.cluster.config.cluster import ClusterConfig
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.acl import (
    CLUSTER_NAME,
    Acl,
    AclFilter,
    CreateAclsRequest,
    DeleteAclsRequest,
    DescribeAclsRequest,
    Operation,
    Pattern,
    Permission,
    Resource,
)
from groupsim.protocol.messages.admin import ListConfigResourcesRequest
from groupsim.protocol.messages.cluster import ClusterImage
from groupsim.protocol.messages.group import (
    HeartbeatRequest,
    JoinGroupRequest,
    JoinProtocol,
    ListGroupsRequest,
    MetadataRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
    OffsetToCommit,
)
from groupsim.protocol.messages.operator import DescribeLogDirsRequest, DescribeTopicPartitionsRequest
from groupsim.protocol.wire.registry import READERS
from tests.helpers.acl_stage import AWAY, Guarded, acl, guarded
from tests.helpers.replicated_stage import OF_G, SECOND, Stage, run

T0 = TopicPartition("t", 0)
NO_GROUP = ErrorCode.GROUP_AUTHORIZATION_FAILED
MINE = acl(Resource.GROUP, "g", host=AWAY)


def test_every_request_that_a_client_can_send_has_a_check() -> None:
    """Every API that the wire reads is authorized before its handler runs."""
    authorization = authorization_of(ClusterConfig(acl=AclConfig(STANDARD)), ClusterImage)
    assert authorization is not None
    checked = {kind.API for kind in authorization.guarded({}, lambda call, request: None)}  # type: ignore[attr-defined]
    assert checked == set(READERS)


def test_a_handler_without_a_check_is_an_error() -> None:
    """A new request without a check raises KeyError when the handlers are wrapped."""
    authorization = authorization_of(ClusterConfig(acl=AclConfig(STANDARD)), ClusterImage)
    assert authorization is not None
    with pytest.raises(KeyError):
        authorization.guarded({ClusterImage: lambda call, request: None}, lambda call, request: None)


def test_without_an_authorizer_there_are_no_checks() -> None:
    """Without an authorizer a broker has no authorization checks at all."""
    assert authorization_of(ClusterConfig(), ClusterImage) is None


def test_brokers_pass_unasked() -> None:
    """Followers fetch without an ACL: otherwise a commit to three replicas would not be answered."""

    async def story(cluster: Guarded) -> None:
        leader = cluster.stage.leader(OF_G)
        assert len(cluster.stage.isr(OF_G)) == 3
        answer = await cluster.home(OffsetCommitRequest("g", (OffsetToCommit(T0, 1),)), leader)
        assert answer.error is ErrorCode.NONE
        await cluster.stage.loop.sleep(60 * SECOND)
        assert len(cluster.stage.isr(OF_G)) == 3
        refused = await cluster.stage.ask(leader, HeartbeatRequest("g", 1, "m"), "broker-1")
        assert refused.error is NO_GROUP  # a client with a broker's name is no broker

    guarded(story)


def test_who_is_not_authenticated_may_be_a_super_user() -> None:
    """A client without authentication is User:ANONYMOUS, which may be a super user."""

    async def story(stage: Stage) -> None:
        answer = await stage.ask(stage.leader(OF_G), HeartbeatRequest("g", 1, "m"))
        assert answer.error is ErrorCode.UNKNOWN_MEMBER_ID

    run(story, acl=AclConfig(STANDARD, frozenset({"User:ANONYMOUS"})))


def test_acls_hold_on_all_brokers_and_are_told_by_each() -> None:
    """ACLs created through one broker hold on another, which describes them, and end on all brokers when deleted."""

    async def story(cluster: Guarded) -> None:
        await cluster.allow(MINE, acl(Resource.CLUSTER, CLUSTER_NAME, Operation.DESCRIBE, host=AWAY))
        leader = cluster.stage.leader(OF_G)
        assert (await cluster.away(HeartbeatRequest("g", 1, "m"), leader)).error is ErrorCode.UNKNOWN_MEMBER_ID
        described = await cluster.away(DescribeAclsRequest(AclFilter(name="g")), 3)
        assert described.acls == (MINE,)
        gone = await cluster.home(DeleteAclsRequest((AclFilter(name="g"),)), 2)
        assert [result.acls for result in gone.results] == [(MINE,)]
        await cluster.stage.loop.sleep(SECOND)
        assert (await cluster.away(HeartbeatRequest("g", 1, "m"), leader)).error is NO_GROUP

    guarded(story)


def test_a_restarted_broker_checks_requests_once() -> None:
    """The next life of a broker checks each request once, with the ACLs of that time."""

    async def story(cluster: Guarded) -> None:
        stage = cluster.stage
        leader = stage.leader(OF_G)
        stage.cluster.crash_broker(leader)
        await stage.loop.sleep(30 * SECOND)
        stage.cluster.restart_broker(leader)
        await stage.loop.sleep(30 * SECOND)
        await cluster.allow(acl(Resource.TOPIC, "t", Operation.READ, host=AWAY))
        answer = await cluster.away(MetadataRequest(("t", "u")), leader)
        assert [(topic.name, topic.error) for topic in answer.topics] == [
            ("t", ErrorCode.NONE),
            ("u", ErrorCode.TOPIC_AUTHORIZATION_FAILED),
        ]

    guarded(story)


def test_metadata_by_topic_id_are_answered_for_topics_that_may_be_described() -> None:
    """A topic asked for by id is refused without its name when the caller may not describe it; an unknown id is not."""

    async def story(cluster: Guarded) -> None:
        stage = cluster.stage
        stage.cluster.create_topic("u", 1)
        await cluster.allow(acl(Resource.TOPIC, "t", Operation.DESCRIBE, host=AWAY))
        known = stage.cluster.brokers[1].metadata
        ids = {name: known.topic_id(name) for name in ("t", "u")}
        request = MetadataRequest((), topic_ids=(ids["u"], ids["t"], "unknownunknownunknowng"))
        refused = ("", ErrorCode.TOPIC_AUTHORIZATION_FAILED, ids["u"], 0)
        described = ("t", ErrorCode.NONE, ids["t"], 6)
        answers = [await ask(request, 1) for ask in (cluster.away, cluster.home)]
        assert [
            [(topic.name, topic.error, topic.topic_id, len(topic.partitions)) for topic in answer.topics]
            for answer in answers
        ] == [[refused, described], [described, ("u", ErrorCode.NONE, ids["u"], 1)]]

    guarded(story)


def test_a_member_that_loses_its_right_is_told_with_its_next_request() -> None:
    """Its heartbeats are refused before the coordinator sees them, so its session expires."""

    async def story(cluster: Guarded) -> None:
        await cluster.allow(MINE)
        leader = cluster.stage.leader(OF_G)
        join = JoinGroupRequest("g", 10_000, 10_000, protocols=(JoinProtocol("range"),), version=3)
        joined = await cluster.away(join, leader)
        beat = HeartbeatRequest("g", joined.generation_id, joined.member_id)
        assert (await cluster.away(beat, leader)).error is ErrorCode.NONE
        await cluster.allow(acl(Resource.GROUP, "g", Operation.READ, host=AWAY, permission=Permission.DENY))
        assert (await cluster.away(beat, leader)).error is NO_GROUP
        listed = await cluster.home(ListGroupsRequest(), leader)
        assert [group.state for group in listed.groups] == ["CompletingRebalance"]
        await cluster.stage.loop.sleep(11 * SECOND)
        listed = await cluster.home(ListGroupsRequest(), leader)
        assert [group.state for group in listed.groups] == ["Empty"]

    guarded(story)


def test_a_request_that_needs_the_cluster_is_refused_by_its_own_response() -> None:
    """ListConfigResources, DescribeAcls and DescribeLogDirs each get their own response with the cluster's error."""

    async def story(cluster: Guarded) -> None:
        for request in (ListConfigResourcesRequest(), DescribeAclsRequest(AclFilter()), DescribeLogDirsRequest(None)):
            answer = await cluster.away(request, 1)
            assert (answer.API, answer.error) == (request.API, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)

    guarded(story)


def test_offsets_are_committed_where_they_may_be() -> None:
    """A commit to two topics takes effect for the one that the caller may read; results keep the request's order."""

    async def story(cluster: Guarded) -> None:
        cluster.stage.cluster.create_topic("u", 1)
        await cluster.allow(MINE, acl(Resource.TOPIC, "t", Operation.READ, host=AWAY))
        leader = cluster.stage.leader(OF_G)
        u0 = TopicPartition("u", 0)
        offsets = (OffsetToCommit(u0, 1), OffsetToCommit(T0, 2))
        answer = await cluster.away(OffsetCommitRequest("g", offsets), leader)
        assert answer.partitions == ((u0, ErrorCode.TOPIC_AUTHORIZATION_FAILED), (T0, ErrorCode.NONE))
        fetched = await cluster.home(OffsetFetchRequest("g", (u0, T0)), leader)
        assert [offset.offset for offset in fetched.offsets] == [-1, 2]

    guarded(story)


def test_a_partition_that_is_named_twice_has_two_results() -> None:
    """Each occurrence gets the result of its own commit; forbidden partitions keep their places."""
    other = TopicPartition("u", 0)
    results = ((T0, ErrorCode.OFFSET_METADATA_TOO_LARGE), (T0, ErrorCode.NONE))
    results_in_order = in_place([T0, other, T0], {"t": True, "u": False}, results)
    assert results_in_order == (results[0], (other, ErrorCode.TOPIC_AUTHORIZATION_FAILED), results[1])


@pytest.mark.parametrize("process", ["one", "two"])
def test_acls_are_kept_with_the_cluster(tmp_path: Path, process: str) -> None:
    """The next process of a cluster with a data directory has the ACLs of the one before, the last change included."""

    async def first(cluster: Guarded) -> None:
        await cluster.allow(MINE, acl(Resource.GROUP, "ü", Operation.READ, pattern=Pattern.PREFIXED))
        if process == "two":
            await cluster.home(DeleteAclsRequest((AclFilter(name="ü"),)))
        cluster.stage.cluster.close_files()

    async def second(stage: Stage) -> None:
        kept = stage.cluster.controller.image.acls
        assert MINE in kept
        assert any(one.name == "ü" for one in kept) is (process == "one")
        answer = await stage.ask(stage.leader(OF_G), HeartbeatRequest("g", 1, "m"), AWAY)
        assert answer.error is ErrorCode.UNKNOWN_MEMBER_ID
        stage.cluster.close_files()

    guarded(first, storage=tmp_path, kept=True)
    _again(second, storage=tmp_path, kept=True, acl=AclConfig(STANDARD, allow_everyone=True))


def _again(story: Any, **config: Any) -> None:
    from groupsim.cluster.cluster import Cluster
    from groupsim.eventloop.virtual import VirtualLoop, run_virtual

    async def main(loop: VirtualLoop) -> None:
        stage = object.__new__(Stage)
        stage.loop, stage.events = loop, []
        stage.cluster = Cluster(loop, ClusterConfig(**{"brokers": 4, **config}))
        await story(stage)

    run_virtual(main)


def _fine(**changes: Any) -> Acl:
    return Acl(**{**_FIELDS, **changes})


_FIELDS: dict[str, Any] = {
    "resource": Resource.GROUP,
    "name": "g",
    "pattern": Pattern.LITERAL,
    "principal": "User:x",
    "host": "*",
    "operation": Operation.READ,
    "permission": Permission.ALLOW,
}


def test_too_many_acls_at_once_are_none() -> None:
    """One request may create 10,000 ACLs at most, not counting existing ones, and delete as many."""

    async def story(cluster: Guarded) -> None:
        before = cluster.stage.cluster.controller.image.acls
        many = tuple(_fine(name=f"g{number}") for number in range(10_001))
        answer = await cluster.home(CreateAclsRequest(many))
        assert {error for error, _ in answer.results} == {ErrorCode.POLICY_VIOLATION}
        assert cluster.stage.cluster.controller.image.acls == before
        assert {error for error, _ in (await cluster.home(CreateAclsRequest(many[:10_000]))).results} == {
            ErrorCode.NONE
        }
        assert {error for error, _ in (await cluster.home(CreateAclsRequest(many))).results} == {ErrorCode.NONE}
        await cluster.stage.loop.sleep(SECOND)
        gone = await cluster.home(DeleteAclsRequest((AclFilter(principal="User:x"),)))
        assert [result.error for result in gone.results] == [ErrorCode.POLICY_VIOLATION]

    guarded(story)


def test_pages_of_topics_go_on_where_a_stranger_may_not_look() -> None:
    """A cursor may name a hidden or deleted topic; topics before it are not in the answer.

    A cursor at a topic that the request does not name, or at a partition below 0, is INVALID_REQUEST.
    """

    async def story(cluster: Guarded) -> None:
        for name in ("b", "d", "e"):
            cluster.stage.cluster.create_topic(name, 1, replication=1)
        await cluster.allow(*(acl(Resource.TOPIC, name, Operation.DESCRIBE, host=AWAY) for name in ("b", "e")))

        async def errors(cursor: tuple[str, int], *names: str) -> dict[str, ErrorCode]:
            answer = await cluster.away(DescribeTopicPartitionsRequest(names, 10, cursor))
            return {topic.name: topic.error for topic in answer.topics}

        hidden = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        assert await errors(("c", 0)) == {"e": ErrorCode.NONE}
        assert await errors(("d", 0), "a", "b", "d", "e") == {"d": hidden, "e": ErrorCode.NONE}
        assert await errors(("d", 0), "d") == {"d": hidden}
        assert await errors(("c", 0), "a", "d") == {"a": ErrorCode.INVALID_REQUEST, "d": ErrorCode.INVALID_REQUEST}
        assert await errors(("d", -1), "d") == {"d": ErrorCode.INVALID_REQUEST}

    guarded(story)
