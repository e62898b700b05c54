"""Joining: from the wish to rejoin to an assignment in hand.

A rebalance passes through stages, some of which wait for an answer. `step`, which the poll loop calls each time round,
walks them and never waits for the network; callbacks and the leader's assignor it returns, to be awaited. So a
cooperative member delivers records while its JoinGroup is parked, and a member whose application is busy answers late
(`away` has libraries that do otherwise).

    IDLE → COMMITTING (the auto-commit before partitions are given up) → IDLE, prepared
         → JOINING → JOINED → SYNCING → SYNCED → IDLE
                                 ↓ ↑
                       SYNC_FAILED → SYNC_AGAIN (`resyncing`), or IDLE, as after a JoinGroup that failed

`needs_prepare` guards the commit and the callbacks before a join: they run once per rebalance, not once per attempt.
Each attempt has a number (`_flight`), and an answer to one that was given up is ignored.

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
from groupsim.members.classic.sync_retry import Resync, ignore, refused
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

#: Errors after which Java joins again at once; others wait for retry.backoff.ms. A member that lost the coordinator
#: joins when it is found: the pause is that look-up's (`CoordinatorClient`).
_AT_ONCE = (Reaction.REDISCOVER, Reaction.REJOIN, Reaction.RESET_MEMBER, Reaction.RESET_GENERATION)
_IDLE = Stage.IDLE  # looked up once: members of an enumeration are found slowly, and every round of records asks


class Joining:
    """The rebalance as one member goes through it."""

    __slots__ = (
        "_flight",
        "_group",
        "_join_timeout_us",
        "_leader",
        "_member",
        "_not_before_us",
        "_outcome",
        "_refused",
        "_resync",
        "_sent",
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
        self._leader: Leader | None = None  # most members never are
        self.stage = _IDLE
        self.rejoin_needed = True
        self.needs_prepare = True
        self.reason = ""
        self.busy = False  #: what takes time (callbacks, an assignor) is under way: no other step is made meanwhile
        self._flight = 0  # counts attempts: the answer to one given up finds another number
        self._sent: Generation = member.generation
        self._outcome: Outcome | None = None
        self._join_timeout_us = parked_timeout_us(member, Api.JOIN_GROUP)
        self._not_before_us = 0
        self._topics = TopicsReady(member)
        self._resync: Resync | None = None
        self._tried_us = 0
        self._was_stable = False
        self._refused = 0  # attempts in a row whose error the application saw
        #: What a step has begun that may take time (callbacks, an assignor), and whether the walk goes on after it.
        self._user_code: Coroutine[Any, Any, bool] | None = None
        self._why = 0  # the event that the next step follows from: the story may be woken by something else

    # -- wishes -------------------------------------------------------------------------------------------------

    def request(self, reason: str, payload: Mapping[str, Any] | None = None) -> None:
        """Ask for a rebalance; `reason` is what the next JoinGroup says, the client's own log says `payload`, too."""
        member = self._member
        seq = member.say(Kind.REJOIN_REQUESTED, reason=reason, payload=payload)
        member.trace.begin(seq)
        self._why = seq
        self.reason = reason
        self.rejoin_needed = True
        member.wake.set()

    def reset(self, reason: str, *, member_id_too: bool) -> None:
        """Membership is gone: forget it, and prepare (lose partitions) before the next join."""
        self._group.forget(reason, member_id_too=member_id_too)
        self.request(reason)
        self.needs_prepare = self.needs_prepare or Defect.KAFKA_12983 not in self._member.profile.defects

    def leave(self, reason: str, *, on_done: Callable[[Outcome], None] | None = None, static_too: bool = False) -> bool:
        """Send LeaveGroup if there is something to leave, and forget the membership; True when a request went out."""
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
        """Whether a rebalance is in the works."""
        return self.stage is not _IDLE

    @property
    def outcome(self) -> Outcome | None:
        """What a request of the rebalance has come to, until the next step takes it."""
        return self._outcome

    @property
    def leader(self) -> Leader:
        """What it does as the leader, should it be made one."""
        if self._leader is None:
            self._leader = Leader(self._member)
        return self._leader

    def resign(self) -> None:
        """It leads no longer."""
        if self._leader is not None:
            self._leader.resign()

    @property
    def assigns(self) -> bool:
        """Whether the next step is a leader's: it may wait for metadata, and takes as long as the assignor."""
        outcome = self._outcome
        return type(outcome) is JoinGroupResponse and outcome.leader == outcome.member_id

    def _abandon(self) -> None:
        """Forget what is in flight; its answer will be ignored."""
        self._flight += 1
        self._outcome = None
        self.stage = Stage.IDLE

    def metadata_changed(self) -> None:
        """New metadata arrived: wake the story where that matters."""
        watching = self.stage is _IDLE and not self.rejoin_needed
        subscription = self._member.subscription
        changed = watching and (self._sees_other_topics() or subscription.is_other)
        if changed or self.stage is Stage.SYNCING or subscription.by_pattern:
            self._member.wake.set()

    def _sees_other_topics(self) -> bool:
        return self._leader is not None and self._leader.metadata_changed()

    def _look_for_changes(self) -> None:
        """Ask to rejoin when the leader's metadata, or the own subscription, is not what was joined with."""
        member = self._member
        if self._sees_other_topics():
            now = shown(member.metadata.version, member.metadata.snapshot())
            self.request(METADATA_CHANGED, {"before": shown(self.leader.version, self.leader.snapshot), "now": now})
        elif member.subscription.is_other:
            before = list(member.subscription.joined or ())
            self.request(SUBSCRIPTION_CHANGED, {"before": before, "now": list(member.subscription.topics)})

    # -- walking ------------------------------------------------------------------------------------------------

    def step(self) -> Coroutine[Any, Any, None] | None:
        """Go as far as one can without waiting for an answer. Raises ClientFailure, PluginError.

        Returns None, or, where something comes that may take time, the rest of the way, which is to be awaited.
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
        self.needs_prepare = False
        self.stage = Stage.COMMITTING
        member.commits.before_rebalance()
        return True

    def _prepare(self) -> bool:
        """Give up partitions, once the auto-commit before it has come to an end."""
        member = self._member
        begun = member.commits.begins_anew()
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
        """Some libraries find a coordinator that is only being connected to not ready: it is tried again later."""
        member = self._member
        if member.coordinator.ready:
            self._send_join()
        else:
            self.hold(member.loop.now_us + member.settings.retry_backoff_ms * MS_US)

    def _send_join(self) -> None:
        member = self._member
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
        if member.state is not ClientState.PREPARING_REBALANCE:
            self._again(failed("UnjoinedGroupException"), at_once=False)
            return True
        member.generation = generation_of(response.generation_id, response.member_id, response.protocol_name)
        member.become(ClientState.COMPLETING_REBALANCE)
        if member.profile.heartbeats.while_syncing:
            self._group.heartbeat.enable()
        if Stuck.NEVER_SYNC in member.behaviour.stuck:
            self._flight += 1
            self.stage = Stage.SYNCING
            return False
        self.stage = Stage.SYNCING  # also while the assignor runs
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
        if member.generation is not generation:
            self._discarded()
            return True
        if not member.coordinator.known:
            self._again(failed("CoordinatorNotAvailableException"), at_once=member.profile.coordinator.looks_up_at_once)
            return True
        self._sent = generation
        request = sync_request(member, assignments)
        if member.pace.retries:
            self._resync = Resync(member, request)
        self._send_sync(request)
        return False

    def _send_sync(self, request: SyncGroupRequest) -> None:
        self._flight += 1
        timeout_us = parked_timeout_us(self._member, Api.SYNC_GROUP)
        self._member.coordinator.send(request, partial(self._sync_answered, self._flight), timeout_us)

    def _sync_again(self) -> bool:
        if self._resync is not None and self._resync.is_due:
            self.stage = Stage.SYNCING
            self._send_sync(self._resync.request)
        return False

    async def _assign(self, response: JoinGroupResponse) -> tuple[SyncAssignment, ...]:
        try:
            assignor = self._group.ownership.assignor_named(response.protocol_name or "")
            return await self.leader.assign(response, assignor)
        except ClientFailure as failure:
            self._again(failed(failure.error), at_once=True)
            raise

    def _sync_answered(self, flight: int, outcome: Outcome) -> None:
        """The state changes as soon as the answer is read, whoever reads it; the callbacks wait for `poll`."""
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
        if self._resync is not None and self._resync.begins(outcome):
            self.stage = Stage.SYNC_AGAIN
            return False
        if isinstance(outcome, SyncGroupResponse) and outcome.error:
            self._react(Api.SYNC_GROUP, outcome.error, "")
        elif isinstance(outcome, SyncGroupResponse):
            self._discarded()
        elif Defect.KAFKA_5154 in self._member.profile.defects:
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
        if member.state is not ClientState.STABLE or member.generation is not self._sent:
            reason = modified(member)  # the membership was lost between the answer and the callbacks
            self._abandon()
            self.reset(reason, member_id_too=True)
            return True
        member.joined = member.generation
        if member.profile.subscription.taken_at_end:
            member.subscription.joined = member.subscription.topics
        if outdated := self.leader.is_outdated():
            self._look_for_changes()
        else:
            await self._group.ownership.complete(outcome.assignment)
        if self._outcome is outcome:  # the poll limit may have run out during the callbacks
            self._outcome = None
            self.stage = Stage.IDLE
        self.needs_prepare = not outdated
        return True

    # -- failures -----------------------------------------------------------------------------------------------

    def _unanswered(self, api: Api, outcome: Outcome | None) -> None:
        """The request has no answer: join again. Raises ClientFailure where the library hands that to its caller."""
        profile = self._member.profile
        if Defect.KAFKA_13214 in profile.defects:
            self.reset(failed("DisconnectException"), member_id_too=True)
        at_once = profile.coordinator.looks_up_at_once or profile.reports.unanswered
        self._again(failed("DisconnectException"), at_once=at_once)
        if profile.reports.unanswered:
            raise unanswered(api, timed_out=type(outcome) is Disconnected and outcome.timed_out)

    def _settle(self) -> None:
        """Take the rebalance for done without an assignment: nothing joins again or heartbeats (KAFKA-5154)."""
        self.rejoin_needed = False
        self._member.become(ClientState.UNJOINED)

    def _discarded(self) -> None:
        """The generation was reset while the sync ran: its result counts as ILLEGAL_GENERATION."""
        self._again(failed(exception_name(ErrorCode.ILLEGAL_GENERATION)), at_once=True)

    def _react(self, api: Api, error: ErrorCode, given_id: str) -> None:
        """Do what the table says about an error. Raises ClientFailure for those the application sees."""
        member = self._member
        reaction = member.profile.reaction(api, error)
        unchanged = member.generation == self._sent
        if reaction is Reaction.STORE_ID:  # no failure: the reason is not that of one, but for some releases
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
        slowly = api is Api.JOIN_GROUP and member.pace.retries > 0
        found = reaction is not Reaction.REDISCOVER or member.profile.coordinator.looks_up_at_once
        quick = reaction in _AT_ONCE or (reaction is Reaction.RETRY and member.profile.retries.joins_without_pause)
        self._again(failed(exception_of(api, error)), at_once=quick and found and not slowly)
        if reaction in (Reaction.THROW, Reaction.FATAL):
            self._refused += 1
            hold_refused(self._group, self._refused)
            raise refused(member, api, error, fatal=reaction is Reaction.FATAL)

    def _check_protocol(self, api: Api, told: str | None, wanted: str | None) -> None:
        """Newer answers say which protocol they are about; another than one's own is an error. Raises ClientFailure."""
        if told is not None and told != wanted:
            self._again(failed(exception_name(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)), at_once=False)
            raise refused(self._member, api, ErrorCode.INCONSISTENT_GROUP_PROTOCOL)

    def hold(self, until_us: int) -> None:
        """Join no sooner than this."""
        self._not_before_us = until_us
        self._member.wake_at(until_us)

    def _again(self, reason: str, *, at_once: bool) -> None:
        """This attempt is over; the next one follows at once or after the library's pause."""
        self._abandon()
        self.request(reason)
        until_us = next_try_us(self._member, self._tried_us, at_once=at_once)
        if until_us:
            self.hold(until_us)


#: What each stage does: whether the walk goes on at once. What may take time it leaves in `_user_code`.
_STEPS: Mapping[Stage, Callable[[Joining], bool]] = {
    Stage.IDLE: Joining._begin,
    Stage.COMMITTING: Joining._prepare,
    Stage.JOINING: Joining._wait,
    Stage.JOINED: Joining._take_join,
    Stage.SYNCING: Joining._wait,
    Stage.SYNC_FAILED: Joining._take_failed_sync,
    Stage.SYNC_AGAIN: Joining._sync_again,
    Stage.SYNCED: Joining._complete,
}
