"""The columns of a request in the trace, from the request alone.

The generation of a member of a consumer group (KIP-848) is its member epoch.
"""

from __future__ import annotations

from groupsim.protocol.messages.consumer_group import ConsumerGroupHeartbeatRequest
from groupsim.protocol.messages.group import (
    NO_GENERATION,
    Api,
    FindCoordinatorRequest,
    LeaveGroupRequest,
    Request,
)

TITLES: dict[Api, str] = {api: api.title for api in Api}
"""The api column of the trace."""


def columns_of(request: Request) -> tuple[str | None, str | None, int | None]:
    """Return group, member id and generation of a request.

    Each is None where the request has none (a first join, a commit without a member) or several.
    """
    group: str | None = getattr(request, "group_id", None)
    member: str | None = getattr(request, "member_id", None)
    if type(request) is FindCoordinatorRequest:
        group = request.key if request.key_type == 0 else None
    elif type(request) is LeaveGroupRequest:
        ids = [leaving.member_id for leaving in request.members]
        member = ids[0] if len(ids) == 1 else None
    if type(request) is ConsumerGroupHeartbeatRequest:
        generation = request.member_epoch
    else:
        generation = getattr(request, "generation_id", NO_GENERATION)
    return group, member or None, generation if generation >= 0 else None


def group_of(request: Request) -> str | None:
    """Return the group of a request; None for a request without a single group."""
    return columns_of(request)[0]
