"""The membership in a classic group: it puts rebalance, heartbeats and poll limit together.

Source: `AbstractCoordinator`, `ConsumerCoordinator`; classic-protocol reference, section 4.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any

from groupsim.eventloop.trace.events import Kind
from groupsim.members.classic.away import away_of
from groupsim.members.classic.heartbeat import Heartbeat
from groupsim.members.classic.main_thread_heartbeat import MainThreadHeartbeat
from groupsim.members.classic.ownership import Ownership
from groupsim.members.classic.poll_clock import PollClock
from groupsim.members.classic.rebalance import MemberRebalance
from groupsim.members.classic.stages import Stage
from groupsim.members.generation import NO_MEMBERSHIP, ClientState, Generation
from groupsim.members.ports import Ports
from groupsim.members.profiles.pace import MainThread
from groupsim.protocol.messages.group import NO_GENERATION

if TYPE_CHECKING:
    from groupsim.members.interfaces import Outcome
    from groupsim.members.membership import Membership

# Bound once: access to a member of an enumeration is slow.
_IDLE, _JOINED, _STABLE = Stage.IDLE, Stage.JOINED, ClientState.STABLE


class ClassicMembership:
    """The membership of one process in a classic group. `Membership` documents the methods."""

    __slots__ = (
        "away",
        "enter_poll",
        "heartbeat",
        "leave_poll",
        "member",
        "ownership",
        "poll",
        "poll_clock",
        "polled",
        "rebalance",
    )

    def __init__(self, member: Ports, ownership: Ownership) -> None:
        self.member = member
        self.ownership = ownership
        pace = member.pace
        self.heartbeat = (
            MainThreadHeartbeat(member, self, pace) if isinstance(pace, MainThread) else Heartbeat(member, self)
        )
        self.poll_clock = PollClock(member, self)
        self.rebalance = MemberRebalance(member, self)
        self.away = away_of(member, self)
        # Bound methods without a call in between: every poll uses them.
        self.enter_poll: Callable[[], None] = self.poll_clock.enter
        self.leave_poll: Callable[[], None] = self.poll_clock.leave
        self.polled: Callable[[], None] = self.heartbeat.polled
        self.poll: Callable[[], Coroutine[Any, Any, None] | None] = self.rebalance.step

    # -- inputs -------------------------------------------------------------------------------------------------

    def go_on(self) -> None:
        self.away.go_on()

    def metadata_changed(self) -> None:
        self.rebalance.metadata_changed()

    def coordinator_found(self) -> None:
        self.heartbeat.coordinator_found()
        self.poll_clock.coordinator_found()

    def coordinator_lost(self) -> None:
        self.heartbeat.coordinator_lost()

    def pausing(self) -> None:
        self.heartbeat.pausing()

    def block_heartbeats(self, us: int) -> None:
        self.heartbeat.block(us)

    # -- requests of other parts --------------------------------------------------------------------------------

    def request_rejoin(self, reason: str, payload: Mapping[str, Any] | None = None) -> None:
        self.rebalance.request(reason, payload)

    def reset(self, reason: str, *, member_id_too: bool) -> None:
        self.rebalance.reset(reason, member_id_too=member_id_too)

    def forget(self, reason: str, *, member_id_too: bool) -> None:
        """Reset the generation, and the member id if `member_id_too`; the state becomes UNJOINED."""
        member = self.member
        kept = "" if member_id_too else member.generation.member_id
        member.emit(Kind.GENERATION_RESET, reason=reason, payload={"member_id_too": member_id_too})
        member.generation = Generation(NO_GENERATION, kept) if kept else NO_MEMBERSHIP
        member.become(ClientState.UNJOINED, reason)
        self.heartbeat.disable()

    def prepare_leave(self) -> None:
        """Do nothing: a classic member leaves by its request alone."""

    def leave(self, reason: str, *, on_done: Callable[[Outcome], None] | None = None, static_too: bool = False) -> bool:
        return self.rebalance.leave(reason, on_done=on_done, static_too=static_too)

    def resign(self) -> None:
        self.rebalance.resign()

    def stop_heartbeats(self) -> None:
        self.heartbeat.disable()

    # -- state --------------------------------------------------------------------------------------------------

    @property
    def resolves_in_poll(self) -> bool:
        return False

    @property
    def in_poll(self) -> bool:
        return self.poll_clock.inside

    @property
    def away_since_us(self) -> int:
        return self.poll_clock.away_since_us

    @property
    def owes_heartbeat(self) -> bool:
        return self.heartbeat.owed

    @property
    def in_group(self) -> bool:
        return bool(self.member.generation.member_id) or self.rebalance.under_way

    @property
    def commit_refusal(self) -> str | None:
        # `sendOffsetCommitRequest` fails without a request: `poll` has to finish the rebalance first.
        state = self.member.state
        if state is _STABLE:
            return None
        return "CommitFailedException" if state is ClientState.UNJOINED else "RebalanceInProgressException"

    @property
    def stays_by_request(self) -> bool:
        return False

    @property
    def rejoin_needed(self) -> bool:
        return self.rebalance.rejoin_needed

    @property
    def rebalances(self) -> bool:
        rebalance = self.rebalance
        return rebalance.rejoin_needed or rebalance.stage is not _IDLE

    @property
    def busy(self) -> bool:
        return self.rebalance.busy

    @property
    def assigns_next(self) -> bool:
        return self.rebalance.stage is _JOINED and self.rebalance.assigns

    @property
    def sends_heartbeats(self) -> bool:
        return self.heartbeat.enabled

    @property
    def quiet_heartbeats(self) -> int:
        return self.heartbeat.quiet


if TYPE_CHECKING:

    def _is_one(made: ClassicMembership) -> Membership:
        return made
