"""The group coordinator of one broker: every group API, for the partitions of `__consumer_offsets` that it leads.

A request passes three steps. First come the checks without a group (`_join` … : an empty group id, a session timeout
out of bounds, an unknown topic). Then the service finds the group's partition, and whether this broker leads it
(NOT_COORDINATOR; `runtime`) and has loaded it (COORDINATOR_LOAD_IN_PROGRESS, but NONE for a Heartbeat). Then the
partition's core handles the request (`shard`), and the driver executes its effects (`partition_driver`).

Sources: `GroupCoordinatorService`, `KafkaApis`; classic-protocol reference, 1.2, 3.1 and 3.3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import evolve

from groupsim.assignors.server.registry import server_assignors
from groupsim.coordinator.base.config import CoordinatorConfig
from groupsim.coordinator.base.consumer_settings import CONSUMER
from groupsim.coordinator.base.failures import IllegalState
from groupsim.coordinator.base.interfaces import Call, Log, Metadata, TopicsImage
from groupsim.coordinator.base.operation import Arrival
from groupsim.coordinator.base.placement import OFFSETS_TOPIC, partition_for
from groupsim.coordinator.base.snapshot import GroupSnapshot
from groupsim.coordinator.base.topics import NO_TOPICS
from groupsim.coordinator.classic.heartbeat import ALIVE
from groupsim.coordinator.consumer.refused import Refused
from groupsim.coordinator.consumer.request_checks import check_request
from groupsim.coordinator.fan_out import GroupsGathered, GroupsPart, MarkerCall, WithUnknownTopics
from groupsim.coordinator.ids import MemberIds
from groupsim.coordinator.partition_driver import PartitionDriver
from groupsim.coordinator.runtime import CoordinatorRuntime
from groupsim.eventloop.interface import EventLoop, Host
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.consumer_group import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    DescribedConsumerGroup,
)
from groupsim.protocol.messages.group import (
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    Request,
    Response,
    SyncGroupRequest,
    SyncGroupResponse,
    TopicPartition,
)
from groupsim.protocol.messages.refusals import refusal
from groupsim.protocol.messages.transactions import TxnMarker, TxnOffsetCommitRequest, WriteTxnMarkersRequest

_PROTOCOL_REQUIRED_VERSION = 5
# Without an authorizer every client may perform all operations on a group (`AclEntry.supportedOperations`), one bit
# each
# (`AclOperation`): READ 3, DELETE 6, DESCRIBE 8, DESCRIBE_CONFIGS 10, ALTER_CONFIGS 11.
_ON_CONFIGS = 1 << 10 | 1 << 11
_ALL_OPERATIONS = 1 << 3 | 1 << 6 | 1 << 8 | _ON_CONFIGS


class GroupCoordinator(CoordinatorRuntime):
    """One broker's coordinator: `handle` takes group requests."""

    def __init__(
        self,
        loop: EventLoop,
        host: Host,
        node: int,
        config: CoordinatorConfig,
        log: Log,
        metadata: Metadata,
        topics: TopicsImage = NO_TOPICS,
    ) -> None:
        super().__init__(loop, host, config, log, topics)
        self._metadata = metadata
        self.ids = MemberIds(loop, node, host.incarnation)  #: the source of member ids
        #: The check of a transactional commit by the transaction coordinator; without one, every commit passes.
        self.verify: Callable[[TxnOffsetCommitRequest, TopicPartition], ErrorCode] = lambda request, partition: (
            ErrorCode.NONE
        )
        #: The names that a member may prefer.
        self._assignors = tuple(one.name for one in server_assignors(config.consumer_assignors))
        self._handlers = {
            HeartbeatRequest: self._heartbeat,
            JoinGroupRequest: self._join,
            SyncGroupRequest: self._sync,
            LeaveGroupRequest: self._of_group,
            ConsumerGroupHeartbeatRequest: self._consumer_heartbeat,
            ConsumerGroupDescribeRequest: self._describe_consumers,
            OffsetCommitRequest: self._commit,
            OffsetFetchRequest: self._fetch,
            OffsetDeleteRequest: self._delete_offsets,
            DescribeGroupsRequest: self._describe,
            ListGroupsRequest: self._list,
            DeleteGroupsRequest: self._delete_groups,
            TxnOffsetCommitRequest: self._commit,
        }

    def handle(self, call: Call) -> None:
        """Handle a group request; it is answered now or later through `call.answer`.

        Raises KeyError for a request of another kind.
        """
        if self._stopped:
            call.answer(_refusal(call.request, ErrorCode.COORDINATOR_NOT_AVAILABLE))
        else:
            self._handlers[type(call.request)](call)

    # --- routing -----------------------------------------------------------------------------------------------------

    def _unavailable(self, driver: PartitionDriver | None) -> ErrorCode | None:
        if driver is None:
            return ErrorCode.NOT_COORDINATOR
        if driver.active:
            return None
        own_error = self.config.differences.loading_has_its_own_error
        return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS if own_error else ErrorCode.NOT_COORDINATOR

    def _route(self, call: Call, group_id: str, fresh_id: str = "") -> None:
        """Give the request to the driver of the group's partition; `fresh_id` is for a JoinGroup without an id."""
        self._hand_to(self._driver_of(group_id), call, fresh_id)

    def _hand_to(self, driver: PartitionDriver | None, call: Call, fresh_id: str = "") -> None:
        if driver is not None and driver.active:
            driver.handle(Arrival(call, call.client_id, call.client_host, fresh_id), call.request)
        else:
            error = self._unavailable(driver)
            # The Scala coordinator repeated the member id of a JoinGroup in these errors, the Java one does not.
            refuse = _refusal if self.config.differences.redirected_joins_have_ids else refusal
            call.answer(refuse(call.request, error or ErrorCode.NOT_COORDINATOR))

    def _of_group(self, call: Call) -> None:
        """Handle a request that must name a group and has no other check."""
        group_id = call.request.group_id  # type: ignore[union-attr]
        if group_id:
            self._route(call, group_id)
        else:
            call.answer(refusal(call.request, ErrorCode.INVALID_GROUP_ID))

    # --- membership --------------------------------------------------------------------------------------------------

    def _heartbeat(self, call: Call) -> None:
        group_id: str = call.request.group_id  # type: ignore[union-attr]
        driver = self._driver_of(group_id)
        if not group_id:
            call.answer(refusal(call.request, ErrorCode.INVALID_GROUP_ID))
        elif driver is not None and not driver.active and self.config.differences.loading_has_its_own_error:
            # `GroupCoordinatorService.heartbeat` turns COORDINATOR_LOAD_IN_PROGRESS into NONE.
            call.answer(ALIVE)
        else:
            self._hand_to(driver, call)

    def _join(self, call: Call) -> None:
        request = call.request
        assert isinstance(request, JoinGroupRequest)
        timeout_ms = request.session_timeout_ms
        # Only the session timeout has bounds: `GroupCoordinatorService.joinGroup` does not check the rebalance timeout.
        if not request.group_id:
            call.answer(_refusal(request, ErrorCode.INVALID_GROUP_ID))
        elif not self.config.min_session_timeout_ms <= timeout_ms <= self.config.max_session_timeout_ms:
            call.answer(_refusal(request, ErrorCode.INVALID_SESSION_TIMEOUT))
        else:
            fresh_id = "" if request.member_id else self._fresh_id(call, request)
            self._route(call, request.group_id, fresh_id)

    def _fresh_id(self, call: Call, request: JoinGroupRequest) -> str:
        driver = self._driver_of(request.group_id)
        if driver is not None and driver.has_consumer_group(request.group_id):
            return self.ids.fresh_uuid(request.group_id, call.client_id)
        named = request.group_instance_id  # "" is an instance id as well
        return self.ids.fresh(request.group_id, call.client_id if named is None else named)

    def _sync(self, call: Call) -> None:
        request = call.request
        assert isinstance(request, SyncGroupRequest)
        # `KafkaApis` refuses a SyncGroup without the protocol (KIP-559) before the coordinator has it.
        named = request.protocol_type is not None and request.protocol_name is not None
        if request.version >= _PROTOCOL_REQUIRED_VERSION and not named:
            call.answer(SyncGroupResponse(ErrorCode.INCONSISTENT_GROUP_PROTOCOL))
            return
        driver = self._driver_of(request.group_id)
        loading = driver is not None and not driver.active
        # From 2.0 to 3.9 a SyncGroup during a load was answered REBALANCE_IN_PROGRESS (`GroupCoordinator.doSyncGroup`).
        if loading and request.group_id and self.config.differences.sync_while_loading_rebalances:
            call.answer(SyncGroupResponse(ErrorCode.REBALANCE_IN_PROGRESS))
        else:
            self._of_group(call)

    def _consumer_heartbeat(self, call: Call) -> None:
        request = call.request
        assert isinstance(request, ConsumerGroupHeartbeatRequest)
        if CONSUMER not in self.config.rebalance_protocols:
            call.answer(refusal(request, ErrorCode.UNSUPPORTED_VERSION))
            return
        try:
            check_request(request, self._assignors)
        except Refused as refused:
            call.answer(ConsumerGroupHeartbeatResponse(refused.error, refused.message))
            return
        fresh_id = "" if request.member_id else self.ids.fresh_uuid(request.group_id, call.client_id)
        self._hand_to(self._driver_of(request.group_id), call, fresh_id)

    # --- offsets -----------------------------------------------------------------------------------------------------

    def _commit(self, call: Call) -> None:
        request: OffsetCommitRequest | TxnOffsetCommitRequest = call.request  # type: ignore[assignment]
        requested = tuple([entry.partition for entry in request.offsets])
        refused = self._refused(requested)
        if not requested:
            call.answer(refusal(request, ErrorCode.NONE))  # as in `KafkaApis`: the coordinator creates no group
        elif refused:
            known: Any = tuple(entry for entry in request.offsets if entry.partition not in refused)
            self._commit_rest(WithUnknownTopics(call, evolve(request, offsets=known), requested, refused))
        # Unlike members' requests, an OffsetCommit or OffsetFetch may have the group id "", for old standalone clients.
        elif isinstance(request, OffsetCommitRequest):
            self._route(call, request.group_id)
        else:
            self._commit_in_transaction(call)

    def _commit_rest(self, call: WithUnknownTopics) -> None:
        """Give the coordinator the known partitions. Without any it is not called: a fenced member gets no error."""
        if not call.request.offsets:  # type: ignore[union-attr]
            call.answer(refusal(call.request, ErrorCode.NONE))
        elif isinstance(call.request, TxnOffsetCommitRequest):
            self._commit_in_transaction(call)
        else:
            self._route(call, call.request.group_id)

    def _commit_in_transaction(self, call: Call) -> None:
        """Verify the transaction, then let the group handle the commit."""
        request: TxnOffsetCommitRequest = call.request  # type: ignore[assignment]
        driver = self._driver_of(request.group_id) if request.group_id else None
        error = ErrorCode.NONE
        if driver is not None:
            error = self.verify(request, TopicPartition(OFFSETS_TOPIC, driver.partition))
        if error:
            call.answer(refusal(request, error))
        else:
            self._of_group(call)

    def end_transaction(self, partition: int, marker: TxnMarker, done: Callable[[ErrorCode], None]) -> None:
        """Write the control record of a transaction that ends in this partition of `__consumer_offsets`.

        `done` gets NONE when it is committed. The transaction coordinator does not know the errors of group
        coordinators, so one that is not ready is reported as NOT_LEADER_OR_FOLLOWER
        (`KafkaApis.handleWriteTxnMarkersRequest`).
        """
        here = evolve(marker, partitions=(TopicPartition(OFFSETS_TOPIC, partition),))
        call = MarkerCall(WriteTxnMarkersRequest((here,)), done)
        driver = self._drivers.get(partition)
        error = ErrorCode.COORDINATOR_NOT_AVAILABLE if self._stopped else self._unavailable(driver)
        if error is None and driver is not None:
            driver.handle(Arrival(call, call.client_id, call.client_host, ""), call.request)
        else:
            call.end(error or ErrorCode.NOT_COORDINATOR)

    def _fetch(self, call: Call) -> None:
        request = call.request
        assert isinstance(request, OffsetFetchRequest)
        self._route(call, request.group_id)

    def _delete_offsets(self, call: Call) -> None:
        request = call.request
        assert isinstance(request, OffsetDeleteRequest)
        refused = self._refused(request.partitions)
        if not refused or not request.group_id:
            self._of_group(call)
            return
        known = tuple(tp for tp in request.partitions if tp not in refused)
        # Unlike a commit, the coordinator is called without any known partition, because it checks the group first.
        rest = WithUnknownTopics(call, evolve(request, partitions=known), request.partitions, refused)
        self._route(rest, request.group_id)

    def _refused(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, ErrorCode]:
        """Return the partitions that the broker does not know."""
        counts: dict[str, int] = {}
        refused = {}
        for tp in partitions:
            topic, number = tp
            if topic not in counts:
                counts[topic] = self._metadata.partition_count(topic) or 0
            if not 0 <= number < counts[topic]:
                refused[tp] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return refused

    # --- administration ----------------------------------------------------------------------------------------------

    def snapshot(self, group_id: str) -> GroupSnapshot | None:
        """Return the group as a value; None when this broker does not coordinate it, or the group does not exist."""
        driver = self._driver_of(group_id)
        return None if driver is None or not driver.active else driver.shard.snapshot(group_id)

    def committed_offsets(self, group_id: str) -> Mapping[TopicPartition, int] | None:
        """Return the group's committed offsets by partition; None when this broker does not coordinate it, or loads."""
        driver = self._driver_of(group_id)
        return None if driver is None or not driver.active else driver.shard.committed_offsets(group_id)

    def _describe(self, call: Call) -> None:
        request = call.request
        assert isinstance(request, DescribeGroupsRequest)
        described = tuple(self._described(group, request) for group in request.groups)
        # Kafka calls a partition once for all its groups: an exception for one of them fails the others, too.
        failed = {self._driver_of(one.group_id) for one in described if one.error is ErrorCode.UNKNOWN_SERVER_ERROR}
        if failed:
            described = tuple(
                _server_error(one.group_id) if self._driver_of(one.group_id) in failed else one for one in described
            )
        call.answer(DescribeGroupsResponse(described))

    def _described(self, group_id: str, request: DescribeGroupsRequest) -> DescribedGroup:
        driver = self._driver_of(group_id)
        error = self._unavailable(driver)
        if error is not None or driver is None:
            return DescribedGroup(group_id, error or ErrorCode.NOT_COORDINATOR)
        try:
            described = driver.shard.describe(group_id, request)
        except IllegalState:
            return _server_error(group_id)
        if request.include_authorized_operations and not described.error:
            without = 0 if self.config.differences.groups_have_configs else _ON_CONFIGS
            return evolve(described, authorized_operations=_ALL_OPERATIONS & ~without)
        return described

    def _describe_consumers(self, call: Call) -> None:
        request = call.request
        assert isinstance(request, ConsumerGroupDescribeRequest)
        if CONSUMER not in self.config.rebalance_protocols:
            call.answer(refusal(request, ErrorCode.UNSUPPORTED_VERSION))
            return
        described = tuple(self._described_consumer(group_id, request) for group_id in request.group_ids)
        call.answer(ConsumerGroupDescribeResponse(described))

    def _described_consumer(self, group_id: str, request: ConsumerGroupDescribeRequest) -> DescribedConsumerGroup:
        driver = self._driver_of(group_id)
        error = ErrorCode.INVALID_GROUP_ID if not group_id else self._unavailable(driver)
        if error is not None or driver is None:
            return DescribedConsumerGroup(group_id, error or ErrorCode.NOT_COORDINATOR)
        described = driver.shard.describe_consumer_group(group_id)
        if request.include_authorized_operations and not described.error:
            return evolve(described, authorized_operations=_ALL_OPERATIONS)
        return described

    def _list(self, call: Call) -> None:
        """List the groups of every partition led here; one that is loading fails the whole answer, as in Kafka."""
        request = call.request
        assert isinstance(request, ListGroupsRequest)
        if not all(driver.active for driver in self._drivers.values()):
            call.answer(ListGroupsResponse(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS))
            return
        groups: list[ListedGroup] = []
        for driver in self._drivers.values():
            groups += driver.shard.list_groups(request)
        call.answer(ListGroupsResponse(ErrorCode.NONE, tuple(groups)))

    def _delete_groups(self, call: Call) -> None:
        request = call.request
        assert isinstance(request, DeleteGroupsRequest)
        by_partition: dict[int, dict[str, None]] = {}
        for group_id in request.groups:
            partition = partition_for(group_id, self.config.offsets_topic_num_partitions)
            by_partition.setdefault(partition, {})[group_id] = None
        gathered = GroupsGathered(call, request.groups, len(by_partition))
        if not by_partition:
            call.answer(DeleteGroupsResponse())
        for groups in by_partition.values():
            part = evolve(request, groups=tuple(groups))
            self._route(GroupsPart(gathered, part), part.groups[0])


def _server_error(group_id: str) -> DescribedGroup:
    """Return the description of a group in an invalid state, or of another group of its partition."""
    return DescribedGroup(group_id, ErrorCode.UNKNOWN_SERVER_ERROR)


def _refusal(request: Request, error: ErrorCode) -> Response:
    """Return the answer of a check without a group; it repeats a JoinGroup's member id."""
    if isinstance(request, JoinGroupRequest):
        return JoinGroupResponse(error, member_id=request.member_id)
    answer: Response = refusal(request, error)
    return answer
