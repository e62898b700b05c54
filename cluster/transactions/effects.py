"""The effects of the transaction coordinator's core: values that the coordinator carries out in order."""

from __future__ import annotations

from typing import TypeAlias

from groupsim.cluster.transactions.records import Txn
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.messages.group import Response
from groupsim.protocol.values import frozen

CallToken: TypeAlias = object
"""Stands for one open request; the core returns it with the response."""


@frozen
class Reply:
    """Answer a request."""

    call: CallToken
    response: Response


@frozen
class Append:
    """Append the record of a transactional id (`txn` None: a tombstone); the core gets the result by `append_id`.

    `again`: the append has failed before, so it is retried after a pause.
    """

    append_id: int
    transactional_id: str
    txn: Txn | None
    again: bool = False


@frozen
class SendMarkers:
    """Send the markers of a transaction to the leaders of its partitions; the core is called when all are written."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    committed: bool
    partitions: tuple[TopicPartition, ...]


@frozen
class Changed:
    """A change of state, for the trace."""

    transactional_id: str
    before: str
    after: str
    producer_id: int
    epoch: int
    reason: str


Effect: TypeAlias = Reply | Append | SendMarkers | Changed
