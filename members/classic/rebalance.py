"""A member's rebalance: from the request to rejoin to the adopted assignment.

A rebalance passes through stages, some of which wait for an answer. The poll loop calls `step`, which advances as far
as possible and never waits for the network; it returns callbacks and the leader's assignor as a coroutine. So a
cooperative member delivers records while its JoinGroup is parked, and a busy application answers late (`away` has the
libraries that differ).

    IDLE → COMMITTING (the auto-commit before partitions are given up) → IDLE, prepared
         → JOINING → JOINED → SYNCING → SYNCED → IDLE
                                 ↓ ↑
                       SYNC_FAILED → SYNC_AGAIN (`sync_retry`), or IDLE, as after a failed JoinGroup

`needs_prepare` guards the commit and the callbacks before a join: they run once per rebalance, not once per attempt.
Each attempt has a number (`_flight`); the answer to an abandoned attempt is ignored.

Sources: `AbstractCoordinator.joinGroupIfNeeded`, `JoinGroupResponseHandler`, `SyncGroupResponseHandler`;
classic-protocol reference, sections 4.5, 4.7 and 4.9.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from groupsim.eventloop.trace.events import Kind
from groupsim.eventloop.units import MS_US
from groupsim.members.behaviour import Stuck
from groupsim.members.classic.leader import Leader
from groupsim.members.classic.pauses import hold_refused, next_try_us, parked_timeout_us
from groupsim.members.classic.reasons import (
    LEAVING,
    METADATA_CHANGED,
    SUBSCRIPTION_CHANGED,
    failed,
    given,
    modified,
    shown,
)
from groupsim.members.classic.requests import join_request, leave_request, sync_request
from groupsim.members.classic.stages import Stage
from groupsim.members.classic.sync_retry import SyncRetry, ignore, refused
from groupsim.members.classic.topics_ready import TopicsReady
from groupsim.members.failures import ClientFailure, unanswered
from groupsim.members.generation import ClientState, Generation, generation_of
from groupsim.members.interfaces import Disconnected, Outcome
from groupsim.members.ports import Ports
from groupsim.members.profiles.defects import Defect
from groupsim.members.profiles.exceptions import exception_name
from groupsim.members.profiles.reactions import Reaction, exception_of
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import (
    NO_GENERATION,
    Api,
    JoinGroupResponse,
    SyncAssignment,
    SyncGroupRequest,
    SyncGroupResponse,
)

if TYPE_CHECKING:
    from groupsim.members.classic.parts import Group

#: Errors after which Java joins again at once; after others it waits for retry.backoff.ms. A member that lost the
#: coordinator joins when the look-up finds it (`CoordinatorClient`).
_AT_ONCE = (Reaction.REDISCOVER, Reaction.REJOIN, Reaction.RESET_MEMBER, Reaction.RESET_GENERATION)
_IDLE = Stage.IDLE  # bound once: access to a member of an enumeration is slow


class MemberRebalance:
    """The rebalance of one member."""

    __slots__ = (
        "_flight",
        "_group",
        "_join_timeout_us",
        "_leader",
        "_member",
        "_not_before_us",
        "_outcome",
        "_refused",
        "_sent",
        "_sync_retry",
        "_topics",
        "_tried_us",
        "_user_code",
        "_was_stable",
        "_why",
        "busy",
        "needs_prepare",
        "reason",
        "rejoin_needed",
        "stage",
    )

    def __init__(self, member: Ports, group: Group) -> None:
        self._member = member
        self._group = group
        self._leader: Leader | None = None  # made at the first use: most members never lead
        self.stage = _IDLE
        self.rejoin_needed = True
        self.needs_prepare = True
        self.reason = ""
        self.busy = False  #: user code (callbacks, an assignor) is running: no other step is made
        self._flight = 0  # number of the current attempt
        self._sent: Generation = member.generation
        self._outcome: Outcome | None = None
        self._join_timeout_us = parked_timeout_us(member, Api.JOIN_GROUP)
        self._not_before_us = 0
        self._topics = TopicsReady(member)
        self._sync_retry: SyncRetry | None = None
        self._tried_us = 0
        self._was_stable = False
        self._refused = 0  # attempts in a row that failed with an error for the application
        #: User code that a step has started; its result: whether the next step may follow at once.
        self._user_code: Coroutine[Any, Any, bool] | None = None
        self._why = 0  # the event that causes the next step

    # -- requests of other parts --------------------------------------------------------------------------------

    def request(self, reason: str, payload: Mapping[str, Any] | None = None) -> None:
        """Request a rebalance; the next JoinGroup carries `reason`, the client's own log `payload`, too."""
        member = self._member
        seq = member.emit(Kind.REJOIN_REQUESTED, reason=reason, payload=payload)
        member.trace.begin(seq)
        self._why = seq
        self.reason = reason
        self.rejoin_needed = True
        member.wake.set()

    def reset(self, reason: str, *, member_id_too: bool) -> None:
        """Reset the membership and rejoin; partitions are lost first (`AbstractCoordinator.resetStateAndRejoin`)."""
        self._group.forget(reason, member_id_too=member_id_too)
        self.request(reason)
        # 2.4 to 2.8.0 did not set the flag: the partitions stayed owned (KAFKA-12983).
        self.needs_prepare = self.needs_prepare or Defect.KAFKA_12983 not in self._member.profile.defects

    def leave(self, reason: str, *, on_done: Callable[[Outcome], None] | None = None, static_too: bool = False) -> bool:
        """Send LeaveGroup if there is a membership to leave, and reset it; True if a request was sent.

        As in `AbstractCoordinator.maybeLeaveGroup` a pending member leaves, too, and a static one does not (KIP-345).
        Even a static member forgets its id, so it may fence itself when it subscribes again (KAFKA-20985).
        """
        member = self._member
        allowed = static_too or member.settings.group_instance_id is None
        known = member.state is not ClientState.UNJOINED and bool(member.generation.member_id)
        sends = allowed and known and member.coordinator.known
        if sends:
            member.coordinator.send(leave_request(member, reason), on_done or ignore)
        self._abandon()
        self.reset(LEAVING, member_id_too=True)
        return sends

    @property
    def under_way(self) -> bool:
        """Whether a rebalance is under way."""
        return self.stage is not _IDLE

    @property
    def outcome(self) -> Outcome | None:
        """The outcome of the rebalance's request, until the next step takes it."""
        return self._outcome

    @property
    def leader(self) -> Leader:
        """The leader's part, made at its first use."""
        if self._leader is None:
            self._leader = Leader(self._member)
        return self._leader

    def resign(self) -> None:
        """Stop acting as the leader."""
        if self._leader is not None:
            self._leader.resign()

    @property
    def assigns(self) -> bool:
        """Whether the next step runs the leader's assignor, which takes time and may wait for metadata."""
        outcome = self._outcome
        return type(outcome) is JoinGroupResponse and outcome.leader == outcome.member_id

    def _abandon(self) -> None:
        """Abandon the current attempt; its answer will be ignored."""
        self._flight += 1
        self._outcome = None
        self.stage = Stage.IDLE

    def metadata_changed(self) -> None:
        """Set `wake` where new metadata matter."""
        watching = self.stage is _IDLE and not self.rejoin_needed
        subscription = self._member.subscription
        changed = watching and (self._sees_other_topics() or subscription.is_other)
        if changed or self.stage is Stage.SYNCING or subscription.by_pattern:
            self._member.wake.set()

    def _sees_other_topics(self) -> bool:
        return self._leader is not None and self._leader.metadata_changed()

    def _look_for_changes(self) -> None:
        """Request a rejoin when the leader's metadata, or the subscription, changed (`rejoinNeededOrPending`)."""
        member = self._member
        if self._sees_other_topics():
            now = shown(member.metadata.version, member.metadata.snapshot())
            self.request(METADATA_CHANGED, {"before": shown(self.leader.version, self.leader.snapshot), "now": now})
        elif member.subscription.is_other:
            before = list(member.subscription.joined or ())
            self.request(SUBSCRIPTION_CHANGED, {"before": before, "now": list(member.subscription.topics)})

    # -- steps --------------------------------------------------------------------------------------------------

    def step(self) -> Coroutine[Any, Any, None] | None:
        """Advance as far as possible without an answer. Raises ClientFailure, PluginError.

        Returns None, or, where user code may take time, the rest of the work as a coroutine to await.
        """
        if self.busy:
            return None
        if self.stage is _IDLE and not self.rejoin_needed:
            self._look_for_changes()
        return self._walk()

    def _walk(self) -> Coroutine[Any, Any, None] | None:
        member = self._member
        while (self.rejoin_needed or self.stage is not _IDLE) and not member.closing:
            if self._why:
                member.trace.begin(self._why)
            if not _STEPS[self.stage](self):
                break
        user_code, self._user_code = self._user_code, None
        if user_code is None:
            return None
        self.busy = True
        return self._walk_on(user_code)

    async def _walk_on(self, user_code: Coroutine[Any, Any, bool]) -> None:
        try:
            goes_on = await user_code
        finally:
            self.busy = False
        if goes_on:
            rest = self._walk()
            if rest is not None:
                await rest

    def _wait(self) -> bool:
        return False

    def _begin(self) -> bool:
        member = self._member
        if self._was_stable and Stuck.NEVER_REJOIN in member.behaviour.stuck:
            return False
        if member.loop.now_us < self._not_before_us:
            return False
        if not member.coordinator.known and not (self.needs_prepare and self._group.away.loses_at_once()):
            member.coordinator.ensure()
            return False
        if not self._topics.are_known(first=self.needs_prepare) or member.commits.holds_join():
            return False
        if not self.needs_prepare:
            if not self._group.poll_clock.holds_join():
                self._send_or_wait()
            return False
        # `joinGroupIfNeeded` clears the flag before the callbacks, which may throw: they do not run twice.
        self.needs_prepare = False
        self.stage = Stage.COMMITTING
        member.commits.before_rebalance()
        return True

    def _prepare(self) -> bool:
        """Give up partitions once the auto-commit has ended; 3.2.0 restarted it with each poll (KAFKA-14024)."""
        member = self._member
        begun = member.commits.restart_before_rebalance()
        if member.commits.holds_join() and not begun:
            return False
        self.stage = Stage.COMMITTING if begun else _IDLE
        giving_up = self._group.ownership.prepare()
        if giving_up is not None:
            self._user_code = self._give_up(giving_up)
            return False
        member.commits.revoked()
        return not begun

    async def _give_up(self, giving_up: Coroutine[Any, Any, None]) -> bool:
        await giving_up
        self._member.commits.revoked()
        return True

    def _send_or_wait(self) -> None:
        """Send JoinGroup, or wait for retry.backoff.ms: kafka-python awaits the connection first."""
        member = self._member
        if member.coordinator.ready:
            self._send_join()
        else:
            self.hold(member.loop.now_us + member.settings.retry_backoff_ms * MS_US)

    def _send_join(self) -> None:
        member = self._member
        # After `onJoinPrepare`, so that its commits carry the old generation (`initiateJoinGroup`).
        member.become(ClientState.PREPARING_REBALANCE)
        self._group.heartbeat.disable()
        self._sent = member.generation
        self._tried_us = member.loop.now_us
        member.subscription.joined = member.subscription.topics
        protocols = self._group.ownership.offers()
        self.stage = Stage.JOINING
        self._flight += 1
        request = join_request(member, protocols, self.reason)
        member.coordinator.send(request, partial(self._join_answered, self._flight), self._join_timeout_us)

    def _join_answered(self, flight: int, outcome: Outcome) -> None:
        if flight != self._flight:
            return
        if type(outcome) is Disconnected:
            self._member.coordinator.lost("coordinator unavailable")
        self._outcome = outcome
        self._why = self._member.trace.cause
        self.stage = Stage.JOINED
        self._member.wake.set()
        self._group.go_on()

    def _take_join(self) -> bool:
        outcome, self._outcome = self._outcome, None
        if type(outcome) is JoinGroupResponse and not outcome.error:
            self._check_protocol(Api.JOIN_GROUP, outcome.protocol_type, "consumer")
            return self._joined(outcome)
        if type(outcome) is JoinGroupResponse:
            self._react(Api.JOIN_GROUP, outcome.error, outcome.member_id)
        else:
            self._unanswered(Api.JOIN_GROUP, outcome)
        return True

    def _joined(self, response: JoinGroupResponse) -> bool:
        member = self._member
        if member.state is not ClientState.PREPARING_REBALANCE:  # left meanwhile (`JoinGroupResponseHandler`)
            self._again(failed("UnjoinedGroupException"), at_once=False)
            return True
        member.generation = generation_of(response.generation_id, response.member_id, response.protocol_name)
        member.become(ClientState.COMPLETING_REBALANCE)
        if member.profile.heartbeats.while_syncing:  # since KAFKA-10122
            self._group.heartbeat.enable()
        if Stuck.NEVER_SYNC in member.behaviour.stuck:
            self._flight += 1
            self.stage = Stage.SYNCING
            return False
        self.stage = Stage.SYNCING  # while the assignor runs, too
        if response.leader == response.member_id:
            self._user_code = self._lead(response)
            return False
        self.resign()
        return self._sync(member.generation, ())

    async def _lead(self, response: JoinGroupResponse) -> bool:
        generation = self._member.generation
        return self._sync(generation, await self._assign(response))

    def _sync(self, generation: Generation, assignments: tuple[SyncAssignment, ...]) -> bool:
        member = self._member
        if member.generation is not generation:  # the heartbeat reset it while the assignor ran
            self._discarded()
            return True
        if not member.coordinator.known:  # `sendSyncGroupRequest` fails without a request
            self._again(failed("CoordinatorNotAvailableException"), at_once=member.profile.coordinator.looks_up_at_once)
            return True
        self._sent = generation
        request = sync_request(member, assignments)
        if member.pace.retries:
            self._sync_retry = SyncRetry(member, request)
        self._send_sync(request)
        return False

    def _send_sync(self, request: SyncGroupRequest) -> None:
        self._flight += 1
        timeout_us = parked_timeout_us(self._member, Api.SYNC_GROUP)
        self._member.coordinator.send(request, partial(self._sync_answered, self._flight), timeout_us)

    def _sync_again(self) -> bool:
        if self._sync_retry is not None and self._sync_retry.is_due:
            self.stage = Stage.SYNCING
            self._send_sync(self._sync_retry.request)
        return False

    async def _assign(self, response: JoinGroupResponse) -> tuple[SyncAssignment, ...]:
        try:
            assignor = self._group.ownership.assignor_named(response.protocol_name or "")
            return await self.leader.assign(response, assignor)
        except ClientFailure as failure:
            self._again(failed(failure.error), at_once=True)
            raise

    def _sync_answered(self, flight: int, outcome: Outcome) -> None:
        """Apply the SyncGroup answer when it is read (`SyncGroupResponseHandler`); the callbacks wait for `poll`."""
        member = self._member
        if flight != self._flight:
            return
        self._outcome = outcome
        self._why = member.trace.cause
        self.stage = Stage.SYNC_FAILED
        if type(outcome) is Disconnected:
            member.coordinator.lost("coordinator unavailable")
        elif type(outcome) is SyncGroupResponse and not outcome.error and member.generation is self._sent:
            self.stage = Stage.SYNCED
            self.rejoin_needed = False
            self.reason = ""
            self._was_stable = True
            self._refused = 0
            member.become(ClientState.STABLE)
            self._group.heartbeat.enable()
        member.wake.set()

    def _take_failed_sync(self) -> bool:
        outcome, self._outcome = self._outcome, None
        if self._sync_retry is not None and self._sync_retry.begins(outcome):
            self.stage = Stage.SYNC_AGAIN
            return False
        if isinstance(outcome, SyncGroupResponse) and outcome.error:
            self._react(Api.SYNC_GROUP, outcome.error, "")
        elif isinstance(outcome, SyncGroupResponse):
            self._discarded()
        elif Defect.KAFKA_5154 in self._member.profile.defects:  # the disconnect ended the rebalance as if it were done
            self._abandon()
            self._settle()
        else:
            self._unanswered(Api.SYNC_GROUP, outcome)
        return True

    def _complete(self) -> bool:
        self._user_code = self._call_back()
        return False

    async def _call_back(self) -> bool:
        member = self._member
        outcome = self._outcome
        if type(outcome) is not SyncGroupResponse:
            raise RuntimeError(f"{member.host.name}: stage {self.stage} without a SyncGroup answer")
        # `joinGroupIfNeeded` checks again: the heartbeat thread may reset the membership before the callbacks.
        if member.state is not ClientState.STABLE or member.generation is not self._sent:
            reason = modified(member)
            self._abandon()
            self.reset(reason, member_id_too=True)
            return True
        member.joined = member.generation
        if member.profile.subscription.taken_at_end:  # Java up to 0.10.0
            member.subscription.joined = member.subscription.topics
        if outdated := self.leader.is_outdated():
            self._look_for_changes()
        else:
            await self._group.ownership.complete(outcome.assignment)
        if self._outcome is outcome:  # else the poll limit expired during the callbacks
            self._outcome = None
            self.stage = Stage.IDLE
        self.needs_prepare = not outdated
        return True

    # -- failures -----------------------------------------------------------------------------------------------

    def _unanswered(self, api: Api, outcome: Outcome | None) -> None:
        """Join again after a request without an answer. Raises ClientFailure in a library that throws it (sarama)."""
        profile = self._member.profile
        # A disconnect cost the member id in 2.6.1 to 2.8.0 (KAFKA-13214).
        if Defect.KAFKA_13214 in profile.defects:
            self.reset(failed("DisconnectException"), member_id_too=True)
        at_once = profile.coordinator.looks_up_at_once or profile.reports.unanswered
        self._again(failed("DisconnectException"), at_once=at_once)
        if profile.reports.unanswered:
            raise unanswered(api, timed_out=type(outcome) is Disconnected and outcome.timed_out)

    def _settle(self) -> None:
        """End the rebalance without an assignment: no further join, no heartbeats (KAFKA-5154)."""
        self.rejoin_needed = False
        self._member.become(ClientState.UNJOINED)

    def _discarded(self) -> None:
        """Treat a SyncGroup answer for a reset generation as ILLEGAL_GENERATION (`SyncGroupResponseHandler`)."""
        self._again(failed(exception_name(ErrorCode.ILLEGAL_GENERATION)), at_once=True)

    def _react(self, api: Api, error: ErrorCode, given_id: str) -> None:
        """Apply the reaction to an error. Raises ClientFailure for an error that poll throws."""
        member = self._member
        reaction = member.profile.reaction(api, error)
        # `generationUnchanged`: an error for an older generation resets nothing.
        unchanged = member.generation == self._sent
        # MEMBER_ID_REQUIRED is no failure: rejoin at once with the id (KIP-394). 3.2 to 3.6 send a failure's reason.
        if reaction is Reaction.STORE_ID:
            member.generation = generation_of(NO_GENERATION, given_id, None)
            why = failed(exception_of(api, error)) if member.profile.retries.given_id_is_failure else given(given_id)
            self._abandon()
            self.request(why)
            return
        if reaction is Reaction.REDISCOVER:
            member.coordinator.lost(f"error response {error.name}")
        if reaction in (Reaction.RESET_MEMBER, Reaction.RESET_GENERATION) and unchanged:
            self.reset(
                f"encountered {error.name} from {api.name} response",
                member_id_too=reaction is Reaction.RESET_MEMBER,
            )
        elif reaction in (Reaction.RETRY, Reaction.REDISCOVER) and Defect.KAFKA_13214 in member.profile.defects:
            self.reset(f"encountered {error.name} from {api.name} response", member_id_too=True)
        slowly = api is Api.JOIN_GROUP and member.pace.retries > 0  # librdkafka pauses after any refused JoinGroup
        found = reaction is not Reaction.REDISCOVER or member.profile.coordinator.looks_up_at_once
        quick = reaction in _AT_ONCE or (reaction is Reaction.RETRY and member.profile.retries.joins_without_pause)
        self._again(failed(exception_of(api, error)), at_once=quick and found and not slowly)
        if reaction in (Reaction.THROW, Reaction.FATAL):
            self._refused += 1
            hold_refused(self._group, self._refused)
            raise refused(member, api, error, fatal=reaction is Reaction.FATAL)

    def _check_protocol(self, api: Api, answered: str | None, wanted: str | None) -> None:
        """Check the protocol of an answer, which v7 and later carry (KIP-559). Raises ClientFailure for another one."""
        if answered is not None and answered != wanted:
            self._again(failed(exception_name(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)), at_once=False)
            raise refused(self._member, api, ErrorCode.INCONSISTENT_GROUP_PROTOCOL)

    def hold(self, until_us: int) -> None:
        """Join no sooner than `until_us`."""
        self._not_before_us = until_us
        self._member.wake_at(until_us)

    def _again(self, reason: str, *, at_once: bool) -> None:
        """End this attempt; the next one follows at once, or after the library's pause."""
        self._abandon()
        self.request(reason)
        until_us = next_try_us(self._member, self._tried_us, at_once=at_once)
        if until_us:
            self.hold(until_us)


#: The step of each stage; it returns whether the next step may follow at once. User code goes to `_user_code`.
_STEPS: Mapping[Stage, Callable[[MemberRebalance], bool]] = {
    Stage.IDLE: MemberRebalance._begin,
    Stage.COMMITTING: MemberRebalance._prepare,
    Stage.JOINING: MemberRebalance._wait,
    Stage.JOINED: MemberRebalance._take_join,
    Stage.SYNCING: MemberRebalance._wait,
    Stage.SYNC_FAILED: MemberRebalance._take_failed_sync,
    Stage.SYNC_AGAIN: MemberRebalance._sync_again,
    Stage.SYNCED: MemberRebalance._complete,
}
