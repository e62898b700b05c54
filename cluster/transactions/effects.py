"""What the core of the transaction coordinator says should happen: values, to be carried out in order."""

from __future__ import annotations

from typing import TypeAlias

from attrs import frozen

from groupsim.cluster.transactions.records import Txn
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.messages.group import Response

CallToken: TypeAlias = object
"""Stands for one request on its way; the core keeps it and gives it back with the answer."""


@frozen
class Reply:
    """Answer a request."""

    call: CallToken
    response: Response


@frozen
class Append:
    """Append the record of a transactional id (`txn` None: its tombstone); tell the core how it ended, by this id.

    `again`: it has just failed, so not at once.
    """

    append_id: int
    transactional_id: str
    txn: Txn | None
    again: bool = False


@frozen
class SendMarkers:
    """Have all these partitions' leaders write the end of a transaction; tell the core when they have."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    committed: bool
    partitions: tuple[TopicPartition, ...]


@frozen
class Changed:
    """A state change, for the trace."""

    transactional_id: str
    before: str
    after: str
    producer_id: int
    epoch: int
    reason: str


Effect: TypeAlias = Reply | Append | SendMarkers | Changed
