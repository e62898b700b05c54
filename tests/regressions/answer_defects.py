"""Historical bugs of consumers at answers of a coordinator that moves or loads, each as the smallest change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from attrs import evolve

from groupsim.members.commit.committer import Committer
from groupsim.members.fetch.fetching import Fetcher
from groupsim.members.profiles.reactions import Reaction
from groupsim.members.zookeeper import kinds
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages import NO_OFFSET, Api


def _reactions(patch: pytest.MonkeyPatch, reactions: Mapping[Api, Mapping[ErrorCode, Reaction]]) -> None:
    """The client that tests use when they name none, with other reactions."""
    patch.setitem(kinds.CLIENTS, "java", evolve(kinds.CLIENTS["java"], reactions=reactions))  # type: ignore[attr-defined]


def load_fails_the_join(patch: pytest.MonkeyPatch) -> None:
    """kafkajs 1779: COORDINATOR_LOAD_IN_PROGRESS in answer to JoinGroup is the end of the consumer."""
    _reactions(patch, {Api.JOIN_GROUP: {ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: Reaction.THROW}})


def stays_with_its_coordinator(patch: pytest.MonkeyPatch) -> None:
    """librdkafka 2944: after NOT_COORDINATOR the same broker is asked again and again."""
    again = {ErrorCode.NOT_COORDINATOR: Reaction.RETRY}
    _reactions(patch, {Api.JOIN_GROUP: again, Api.SYNC_GROUP: again})


def heartbeats_end_with_a_load(patch: pytest.MonkeyPatch) -> None:
    """aiokafka 0.14.0: the task that heartbeats ends with an error that it has no row for."""
    _reactions(patch, {Api.HEARTBEAT: {ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: Reaction.THROW}})


def committed_means_nothing(patch: pytest.MonkeyPatch) -> None:
    """broadway_kafka 27: the reset policy is taken for where to begin, whatever was committed."""
    answered = Fetcher._committed

    def mutant(self: Fetcher, number: int, outcome: Any) -> None:
        offsets = tuple([evolve(entry, offset=NO_OFFSET) for entry in outcome.offsets])
        answered(self, number, evolve(outcome, offsets=offsets))

    patch.setattr(Fetcher, "_committed", mutant)


def nothing_committed_before_a_rebalance(patch: pytest.MonkeyPatch) -> None:
    """pykafka 167: a rebalance does not commit first."""
    patch.setattr(Committer, "before_rebalance", lambda self: None)
