"""Authorization checks for the consumer group protocol: ConsumerGroupHeartbeat, ConsumerGroupDescribe.

A broker on which the protocol is off refuses both before it asks the authorizer. The topics of a regular expression are
found after the heartbeat; those that its sender may not describe do not count, without an error (`DescribingCall`).

Source: `KafkaApis.handleConsumerGroupHeartbeat`, `handleConsumerGroupDescribe`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from attrs import evolve

from groupsim.cluster.acl.authorization import AuthContext, Check, DescribingCall, unchecked
from groupsim.cluster.acl.groups import NO_GROUP
from groupsim.cluster.acl.offsets import NO_TOPIC
from groupsim.protocol.messages.acl import Operation, Resource
from groupsim.protocol.messages.consumer_group import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    ConsumerGroupHeartbeatRequest,
    DescribedConsumerGroup,
)

_HIDDEN: Final = "The group has described topic(s) that the client is not authorized to describe."


def _heartbeat(auth: AuthContext, request: ConsumerGroupHeartbeatRequest) -> None:
    """Require READ on the group and DESCRIBE on every named topic."""
    if not auth.allows(Operation.READ, Resource.GROUP, request.group_id):
        auth.refuse(NO_GROUP)
    elif not all(auth.allowed(Operation.DESCRIBE, Resource.TOPIC, request.subscribed_topic_names or ()).values()):
        auth.refuse(NO_TOPIC)
    elif request.subscribed_topic_regex:
        auth.forward_as(DescribingCall(auth, request))
    else:
        auth.forward(request)


def _describe(auth: AuthContext, request: ConsumerGroupDescribeRequest) -> None:
    """Require DESCRIBE on the group, and on all topics of its members; refused groups come first in the answer."""
    described = [(name, auth.allows(Operation.DESCRIBE, Resource.GROUP, name)) for name in request.group_ids]
    refused = tuple(DescribedConsumerGroup(name, NO_GROUP) for name, allowed in described if not allowed)

    def complete(answer: ConsumerGroupDescribeResponse) -> ConsumerGroupDescribeResponse:
        found = (_visible(auth, group, request) for group in answer.groups)
        return ConsumerGroupDescribeResponse((*refused, *found))

    rest = tuple(name for name, allowed in described if allowed)
    auth.forward_with(evolve(request, group_ids=rest), complete)


def _visible(
    auth: AuthContext, group: DescribedConsumerGroup, request: ConsumerGroupDescribeRequest
) -> DescribedConsumerGroup:
    """Return the group with the authorized operations, or nothing but an error when a member has a hidden topic."""
    if request.include_authorized_operations and not group.error:
        group = evolve(group, authorized_operations=auth.operations(Resource.GROUP, group.group_id))
    topics = (entry.topic_name for one in group.members for entry in (*one.assignment, *one.target_assignment))
    if all(auth.allowed(Operation.DESCRIBE, Resource.TOPIC, topics).values()):
        return group
    return DescribedConsumerGroup(group.group_id, NO_TOPIC, _HIDDEN)


def checks(consumer_protocol: bool) -> Mapping[type, Check]:
    """Return the checks by request class, of a broker with or without the protocol; without it both are refused."""
    if not consumer_protocol:
        return {ConsumerGroupHeartbeatRequest: unchecked, ConsumerGroupDescribeRequest: unchecked}
    return {ConsumerGroupHeartbeatRequest: _heartbeat, ConsumerGroupDescribeRequest: _describe}
