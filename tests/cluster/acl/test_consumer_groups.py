"""The authorization of ConsumerGroupHeartbeat and ConsumerGroupDescribe, before a coordinator that is a stand-in."""

from __future__ import annotations

from typing import Any

from groupsim.cluster.acl.checks import authorization_of
from groupsim.cluster.config.acl import STANDARD, AclConfig
from groupsim.cluster.config.cluster import ClusterConfig
from groupsim.coordinator.base.config import CoordinatorConfig
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.acl import NOT_ASKED, Acl, Operation, Resource
from groupsim.protocol.messages.cluster import ClusterImage
from groupsim.protocol.messages.consumer_group import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    DescribedConsumer,
    DescribedConsumerGroup,
    DescribedPartitions,
)
from tests.helpers.acl_stage import AWAY, Guarded, acl, guarded
from tests.helpers.replicated_stage import OF_G, SECOND

PLACE = {name: DescribedPartitions("A" * 21 + "Q", name, (0,)) for name in ("seen", "hidden")}
GROUPS = {
    "open": DescribedConsumerGroup(
        "open", state="Stable", group_epoch=3, members=(DescribedConsumer("m", assignment=(PLACE["seen"],)),)
    ),
    "closed": DescribedConsumerGroup("closed"),
    "assigned": DescribedConsumerGroup(
        "assigned", state="Stable", group_epoch=4, members=(DescribedConsumer("m", assignment=(PLACE["hidden"],)),)
    ),
    "target": DescribedConsumerGroup(
        "target",
        state="Reconciling",
        members=(
            DescribedConsumer("m", assignment=(PLACE["seen"],)),
            DescribedConsumer("n", target_assignment=(PLACE["seen"], PLACE["hidden"])),
        ),
    ),
    "gone": DescribedConsumerGroup("gone", ErrorCode.GROUP_ID_NOT_FOUND, "Group gone not found."),
}


class Call:
    """A call of a client, with its answer."""

    purpose = "coordinator"
    client_host = "/10.0.0.1"

    def __init__(self, request: Any) -> None:
        self.request = request
        self.answered: Any = None

    def answer(self, response: Any) -> None:
        self.answered = response


def heartbeat(call: Any, request: ConsumerGroupHeartbeatRequest) -> None:
    """Answer every heartbeat."""
    call.answer(ConsumerGroupHeartbeatResponse(member_id=request.member_id, member_epoch=1))


def describe(call: Any, request: ConsumerGroupDescribeRequest) -> None:
    """Describe the groups of the request."""
    call.answer(ConsumerGroupDescribeResponse(tuple(GROUPS[name] for name in request.group_ids)))


def answer(request: Any, *acls: Acl, beat: Any = heartbeat, **coordinator: Any) -> Any:
    """Return the answer to a client that may do what these ACLs allow."""
    config = ClusterConfig(acl=AclConfig(STANDARD), coordinator=CoordinatorConfig(**coordinator))
    authorization = authorization_of(config, lambda: ClusterImage(acls=frozenset(acls)))
    assert authorization is not None
    handlers = authorization.guarded(
        {ConsumerGroupHeartbeatRequest: beat, ConsumerGroupDescribeRequest: describe}, lambda call, request: None
    )
    call = Call(request)
    handlers[type(request)](call, request)
    return call.answered


READ = acl(Resource.GROUP, "g", Operation.READ)
SEEN = acl(Resource.TOPIC, "seen", Operation.DESCRIBE)


def test_a_heartbeat_reads_the_group_and_describes_its_topics() -> None:
    """READ on the group is asked for first, then DESCRIBE on each named topic; without names on none."""
    named = ConsumerGroupHeartbeatRequest("g", "m", 0, subscribed_topic_names=("seen", "hidden"))
    assert answer(named).error is ErrorCode.GROUP_AUTHORIZATION_FAILED
    refused = answer(named, READ, SEEN)
    assert refused == ConsumerGroupHeartbeatResponse(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    hidden = acl(Resource.TOPIC, "hidden", Operation.READ)  # READ implies DESCRIBE
    assert answer(named, READ, SEEN, hidden).member_epoch == 1
    for names in (None, ()):
        quiet = ConsumerGroupHeartbeatRequest("g", "m", 3, subscribed_topic_names=names, subscribed_topic_regex=".*")
        assert answer(quiet, READ).member_epoch == 1


def test_a_pattern_finds_topics_that_its_sender_may_describe() -> None:
    """The coordinator asks later, by the call; without a pattern the call is the client's own."""
    calls: list[Any] = []

    def beat(call: Any, request: ConsumerGroupHeartbeatRequest) -> None:
        calls.append(call)
        heartbeat(call, request)

    pattern = ConsumerGroupHeartbeatRequest("g", "m", 0, subscribed_topic_regex=".*")
    assert answer(pattern, READ, SEEN, beat=beat).member_epoch == 1
    assert list(calls[0].describable(["hidden", "seen"])) == ["seen"]
    assert (calls[0].request, calls[0].client_host) == (pattern, "/10.0.0.1")
    answer(ConsumerGroupHeartbeatRequest("g", "m", 0), READ, beat=beat)
    assert not hasattr(calls[1], "describable")


def test_a_broker_without_the_protocol_does_not_authorize_it() -> None:
    """The coordinator's UNSUPPORTED_VERSION comes before any authorization error."""
    for off in ({"rebalance_protocols": ("classic",)}, {"broker_version": "3.9"}):
        assert answer(ConsumerGroupHeartbeatRequest("g", "m", 0), **off).member_epoch == 1
        (group,) = answer(ConsumerGroupDescribeRequest(("gone",)), **off).groups
        assert group == GROUPS["gone"]


def test_a_description_of_a_group_needs_describe_on_it() -> None:
    """Groups that the caller may not describe come first, with an error each; the rest follow in their order."""
    groups = answer(
        ConsumerGroupDescribeRequest(("open", "closed", "gone")),
        *(acl(Resource.GROUP, name, Operation.DESCRIBE) for name in ("open", "gone")),
        SEEN,
    ).groups
    assert groups == (
        DescribedConsumerGroup("closed", ErrorCode.GROUP_AUTHORIZATION_FAILED),
        GROUPS["open"],
        GROUPS["gone"],
    )


def test_a_hidden_topic_of_one_member_hides_all_members() -> None:
    """A topic in an assignment or a target that the caller may not describe: an error, and no member is listed."""
    every = acl(Resource.GROUP, "*", Operation.DESCRIBE)
    groups = answer(ConsumerGroupDescribeRequest(("assigned", "target", "open")), every, SEEN).groups
    errors = [(group.error, len(group.members)) for group in groups]
    refused = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert errors == [(refused, 0), (refused, 0), (ErrorCode.NONE, 1)]
    assert groups[0].error_message == (
        "The group has described topic(s) that the client is not authorized to describe."
    )


def test_authorized_operations_are_listed_on_request() -> None:
    """READ and DESCRIBE on the group are bits 3 and 8; a group with an error has none."""
    read = acl(Resource.GROUP, "*", Operation.READ)
    groups = answer(ConsumerGroupDescribeRequest(("open", "gone"), True), read, SEEN).groups
    assert [group.authorized_operations for group in groups] == [1 << 3 | 1 << 8, NOT_ASKED]
    (plain,) = answer(ConsumerGroupDescribeRequest(("open",)), read, SEEN).groups
    assert plain.authorized_operations == NOT_ASKED


def test_a_member_gets_no_topic_that_it_may_not_describe() -> None:
    """Of the topics that match its pattern it is assigned those with DESCRIBE, and hears of no other."""
    found: list[set[str]] = []

    async def story(cluster: Guarded) -> None:
        for name in ("seen", "hidden"):
            cluster.stage.cluster.create_topic(name, 1, replication=1)
        await cluster.allow(acl(Resource.GROUP, "g", host=AWAY), acl(Resource.TOPIC, "seen", host=AWAY))
        leader = cluster.stage.leader(OF_G)
        for host in (cluster.away, cluster.home):
            join = ConsumerGroupHeartbeatRequest("g", "m", 0, None, None, 9_000, None, "seen|hidden", None, ())
            epoch = (await host(join, leader)).member_epoch
            await cluster.stage.loop.sleep(2 * SECOND)
            answer = await host(ConsumerGroupHeartbeatRequest("g", "m", epoch), leader)
            names = cluster.stage.cluster.brokers[leader].metadata.topic_name
            found.append({str(names(entry.topic_id)) for entry in answer.assignment})
            await host(ConsumerGroupHeartbeatRequest("g", "m", -1), leader)

    guarded(story)
    assert found == [{"seen"}, {"seen", "hidden"}]
