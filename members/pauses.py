"""How long a member waits around a JoinGroup: for its answer, and after one that failed before it tries again.

Sources: `AbstractCoordinator.joinGroupIfNeeded`, `sendJoinGroupRequest`; classic-protocol reference, section 4.5.
"""

from __future__ import annotations

from groupsim.eventloop.units import MS_US, shared
from groupsim.members.member import Member

_JOIN_SLACK_MS = 5_000


def join_timeout_us(member: Member) -> int:
    """How long the answer to JoinGroup may take."""
    settings = member.settings
    if not member.profile.join_waits_for_rebalance:
        return shared(settings.request_timeout_ms * MS_US)
    return shared(max(settings.request_timeout_ms, settings.own_rebalance_timeout_ms + _JOIN_SLACK_MS) * MS_US)


def next_try_us(member: Member, tried_us: int, *, at_once: bool) -> int:
    """When the next attempt may begin, after one at `tried_us` failed; 0: now, or after the library's pause.

    A library with a main loop has a pause of its own, between two tries.
    """
    delay_ms, main_loop = member.profile.rejoin_delay_ms, member.profile.main_loop
    if delay_ms is None:
        delay_ms = 0 if at_once and not member.profile.rejoins_after_pause else member.settings.retry_backoff_ms
    if not delay_ms:
        return 0
    if main_loop is None:
        return member.now_us + delay_ms * MS_US
    return main_loop.look_us(member.started_us, tried_us + main_loop.rejoin_ms * MS_US)
