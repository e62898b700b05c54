"""Timeouts of requests that the coordinator may park, and waits before the next JoinGroup.

Sources: `AbstractCoordinator.joinGroupIfNeeded`, `sendJoinGroupRequest`; classic-protocol reference, section 4.5; those
of other libraries stand at their profiles.
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
    """Return the timeout of a request that the coordinator may park, in microseconds."""
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
    """Delay the next join of a library's own task after refused attempts in a row; elsewhere the application waits."""
    member = group.member
    profile = member.profile
    if profile.pace.rebalances_in_task and profile.error_loop.policy is not OnError.STOP:
        group.rebalance.hold(member.now_us + profile.error_loop.pause_us(refused))


def next_try_us(member: Ports, tried_us: int, *, at_once: bool) -> int:
    """Return when the next attempt may begin, after one at `tried_us` failed; 0 for now, without a pause.

    librdkafka has its own pause between two attempts (`Pace.next_join_us`).
    """
    delay_ms = member.profile.retries.join_delay_ms
    if delay_ms is None:
        delay_ms = 0 if at_once and not member.pace.joins_after_pause else member.settings.retry_backoff_ms
    if not delay_ms:
        return 0
    return member.pace.next_join_us(member.started_us, member.now_us, tried_us, delay_ms)
