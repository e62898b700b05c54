"""Ways to end a membership: unsubscribe, and the clean close of a process.

Source: `ConsumerCoordinator.close`, `onLeavePrepare`, `AbstractCoordinator.maybeLeaveGroup`; KIP-345 (static members
stay), KIP-1092 (CloseOptions); classic-protocol reference, section 4.7.
"""

from __future__ import annotations

from groupsim.eventloop.units import SECOND_US
from groupsim.members.failures import ClientFailure
from groupsim.members.interfaces import Outcome
from groupsim.members.member import Member

UNSUBSCRIBED = "the consumer unsubscribed from all topics"
CLOSED = "the consumer is being closed"
CLOSE_TIMEOUT_US = 30 * SECOND_US


async def unsubscribe(member: Member) -> None:
    """Give partitions up and leave. A static member stays in the group, but forgets its member id."""
    await _rebalance_apart(member)
    member.membership.prepare_leave()
    await member.ownership.abandon()
    if member.membership.in_group:
        member.membership.leave(UNSUBSCRIBED, static_too=member.profile.leaving.static_on_unsubscribe)
    member.membership.resign()


async def close_process(member: Member, leave: bool | None) -> None:
    """Commit, call back, leave, wait for the answers (30 s at most), close connections.

    `leave` None: as in library and settings (dynamic members leave, static ones stay). True: leave, also as a static
    member (CloseOptions LEAVE_GROUP). False: stay (REMAIN_IN_GROUP), after the callback.
    """
    await _rebalance_apart(member)
    deadline = member.now_us + CLOSE_TIMEOUT_US
    if not member.is_done:
        await member.commits.on_close(CLOSE_TIMEOUT_US)
    member.commits.stop()
    member.membership.stop_heartbeats()
    if member.subscription.assigned is not None or (leave is None and _ends_without_leaving(member)):
        member.ownership.release_all("closed")
    else:
        failure = await _abandon(member)
        if leave is not False or member.membership.stays_by_request:
            await _leave(member, static_too=leave is True, until_us=deadline)
        if failure is not None:
            raise failure
    member.fetcher.close()
    member.links.close()


async def _abandon(member: Member) -> ClientFailure | None:
    """Call back for all partitions; return the exception of a callback that does not keep the member from leaving.

    Raises ClientFailure in libraries in which it does. Source: `AsyncKafkaConsumer.close`, `swallow`.
    """
    try:
        await member.ownership.abandon()
    except ClientFailure as failure:
        if not member.profile.leaving.despite_callback:
            raise
        return failure
    return None


async def _rebalance_apart(member: Member) -> None:
    """Wait for the library's own task, which may be in a callback (aiokafka, franz-go)."""
    while member.membership.busy:
        member.wake.clear()
        await member.wake.wait()


def _ends_without_leaving(member: Member) -> bool:
    """Whether the process ends without callback and LeaveGroup (internal.leave.group.on.close=false)."""
    if member.is_done:
        return True  # librdkafka does nothing after a fatal error (`rdkafka_cgrp.c`)
    if member.settings.leave_on_close is not None:
        return not member.settings.leave_on_close
    return not member.profile.leaving.on_close


async def _leave(member: Member, *, static_too: bool, until_us: int) -> None:
    answered = member.loop.event()

    def done(outcome: Outcome) -> None:
        answered.set()

    static_too = static_too or member.profile.leaving.static_on_close
    if member.membership.leave(CLOSED, on_done=done, static_too=static_too):
        wait_us = min(member.request_timeout_us, until_us - member.now_us)
        with member.loop.timeout(max(wait_us, 0)):
            await answered.wait()
