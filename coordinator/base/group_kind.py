"""The interface of every kind of group: the methods and tables that a partition uses.

The classic group is one kind; the consumer group of KIP-848 is another. A partition finds a group by its id and uses
it, and never checks its kind: what a request means for a group of a kind that does not answer it is a row of the table
in `coordinator/partition/admission.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from enum import Enum
from typing import Any, Protocol, TypeAlias

from groupsim.coordinator.base.effects import CallToken
from groupsim.coordinator.base.expiry import ExpiryRule
from groupsim.coordinator.base.operation import Arrival, Operation
from groupsim.coordinator.base.records import Record
from groupsim.coordinator.base.snapshot import GroupSnapshot
from groupsim.coordinator.base.timers import Timer
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.consumer_group import DescribedConsumerGroup
from groupsim.protocol.messages.group import DescribedGroup, ListedGroup, OffsetCommitRequest, OffsetFetchRequest
from groupsim.protocol.messages.transactions import TxnOffsetCommitRequest


class GroupKind(Enum):
    """A kind of group, by its name in ListGroups (`Group.GroupType`)."""

    CLASSIC = "classic"
    CONSUMER = "consumer"


Answer: TypeAlias = Callable[[Any, Operation, Arrival, Any], None]
"""A function of a kind that handles one type of request: its arguments are the group, the operation, the sender and the
request.
"""


class AnswersRequests(Protocol):
    """The requests of members that the kind answers, by their type."""

    @property
    def answers(self) -> Mapping[type[Any], Answer]: ...
    def answered_otherwise(self, call: CallToken) -> None: ...


class ChecksCommits(Protocol):
    """The check of the sender of a commit, outside a transaction and in one, and of a fetch; None when it may go on.

    `committed`: a fetch reads the state of the last committed append.
    """

    def commit_error(self, op: Operation, request: OffsetCommitRequest) -> ErrorCode | None: ...
    def txn_commit_error(self, op: Operation, request: TxnOffsetCommitRequest) -> ErrorCode | None: ...
    def fetch_error(self, request: OffsetFetchRequest, *, committed: bool) -> ErrorCode | None: ...


class OwnsOffsets(Protocol):
    """What decides when offsets, and the group itself, expire or may be deleted."""

    @property
    def is_empty(self) -> bool: ...
    @property
    def is_dead(self) -> bool: ...
    @property
    def is_consumer(self) -> bool: ...
    def is_subscribed(self, topic: str) -> bool: ...
    def expiry_rule(self, op: Operation) -> ExpiryRule | None: ...
    def tombstones(self) -> tuple[Record, ...]: ...
    @property
    def has_record(self) -> bool: ...


class IsShown(Protocol):
    """The group in answers to administrators, and as a value."""

    def describe(self) -> DescribedGroup: ...
    def described(self, op: Operation) -> DescribedConsumerGroup: ...
    def listed(self) -> ListedGroup: ...
    def snapshot(self, op: Operation) -> GroupSnapshot: ...


class Lives(Protocol):
    """Timers, load and unload, changes of topics, and the actions of an operator.

    `metadata_changed` gets the names of topics that were created, changed or deleted (`Group.requestMetadataRefresh`).
    """

    def timer_fired(self, op: Operation, timer: Timer) -> None: ...
    def force_rebalance(self, op: Operation, reason: str) -> bool: ...
    def loaded(self, op: Operation) -> None: ...
    def unloaded(self, op: Operation) -> None: ...
    def vanished(self, op: Operation) -> None: ...
    def metadata_changed(self, op: Operation, names: Collection[str]) -> None: ...


class Group(AnswersRequests, ChecksCommits, OwnsOffsets, IsShown, Lives, Protocol):
    """A group of any kind. `generation` is the generation of a classic group, the group epoch of a consumer group."""

    @property
    def group_id(self) -> str: ...
    @property
    def generation(self) -> int: ...
    @property
    def kind(self) -> GroupKind: ...
