"""Historical bugs of consumers when a coordinator moves or loads, each as the smallest change that restores it."""

from __future__ import annotations

from typing import Any

from attrs import evolve

from groupsim.members.commit.committer import Committer
from groupsim.members.fetch.positions import Fetcher
from groupsim.members.profiles.reactions import Reaction
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import NO_OFFSET, Api
from groupsim.testing.mutants.profiles import change_profile, change_reaction
from groupsim.testing.patcher import Patcher


def load_fails_the_join(patch: Patcher) -> None:
    """kafkajs 1779: COORDINATOR_LOAD_IN_PROGRESS in answer to JoinGroup ends the consumer."""
    change_reaction(patch, Api.JOIN_GROUP, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, Reaction.THROW)


def stays_with_its_coordinator(patch: Patcher) -> None:
    """librdkafka 2944: after NOT_COORDINATOR the client sends to the same broker again."""
    again = {ErrorCode.NOT_COORDINATOR: Reaction.RETRY}
    change_profile(patch, reactions={Api.JOIN_GROUP: again, Api.SYNC_GROUP: again})


def heartbeats_end_with_a_load(patch: Patcher) -> None:
    """aiokafka 0.14.0: an error without a row in the reactions ends the heartbeat task."""
    change_reaction(patch, Api.HEARTBEAT, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, Reaction.THROW)


def committed_means_nothing(patch: Patcher) -> None:
    """broadway_kafka 27: a consumer starts where its reset policy says, whatever was committed."""
    answered = Fetcher._committed

    def mutant(self: Fetcher, number: int, outcome: Any) -> None:
        offsets = tuple([evolve(entry, offset=NO_OFFSET) for entry in outcome.offsets])
        answered(self, number, evolve(outcome, offsets=offsets))

    patch.setattr(Fetcher, "_committed", mutant)


def nothing_committed_before_a_rebalance(patch: Patcher) -> None:
    """pykafka 167: a rebalance begins without a commit."""
    patch.setattr(Committer, "before_rebalance", lambda self: None)
