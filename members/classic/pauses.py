"""How long a member waits around a JoinGroup: for its answer, and after one that failed before it tries again.

Sources: `AbstractCoordinator.joinGroupIfNeeded`, `sendJoinGroupRequest`; classic-protocol reference, section 4.5; for
other libraries at their profiles.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from groupsim.eventloop.units import MS_US
from groupsim.members.ports import Ports
from groupsim.members.profiles.profile import OnError, ParkedBase, RequestBound
from groupsim.members.settings import ConsumerSettings
from groupsim.protocol.messages.group import Api

if TYPE_CHECKING:
    from groupsim.members.classic.parts import Group


def parked_timeout_us(member: Ports, api: Api) -> int:
    """How long the answer to a request may take that the coordinator may park."""
    settings = member.settings
    parked = member.profile.parked.get(api)
    if parked is None:
        return member.request_timeout_us
    timeout_ms = _base_ms(settings, parked.base) + parked.slack_ms
    if parked.bound is RequestBound.AT_LEAST:
        timeout_ms = max(timeout_ms, settings.request_timeout_ms)
    elif parked.bound is RequestBound.AT_MOST:
        timeout_ms = min(timeout_ms, settings.request_timeout_ms)
    return member.pace.timeout_ms(timeout_ms) * MS_US


def _base_ms(settings: ConsumerSettings, base: ParkedBase) -> int:
    if base is ParkedBase.REBALANCE:
        return settings.own_rebalance_timeout_ms
    return settings.session_timeout_ms if base is ParkedBase.SESSION else 0


def hold_refused(group: Group, refused: int) -> None:
    """Let a library's own task wait after so many refused attempts in a row; elsewhere the application does."""
    member = group.member
    profile = member.profile
    if profile.pace.rebalances_apart and profile.error_loop.policy is not OnError.STOP:
        group.joining.hold(member.now_us + profile.error_loop.pause_us(refused))


def next_try_us(member: Ports, tried_us: int, *, at_once: bool) -> int:
    """When the next attempt may begin, after one at `tried_us` failed; 0: now, or after the library's pause.

    A library with a main thread has a pause of its own, between two tries.
    """
    delay_ms = member.profile.retries.join_delay_ms
    if delay_ms is None:
        delay_ms = 0 if at_once and not member.pace.joins_after_pause else member.settings.retry_backoff_ms
    if not delay_ms:
        return 0
    return member.pace.next_join_us(member.started_us, member.now_us, tried_us, delay_ms)
