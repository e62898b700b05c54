"""What a broker can say about a request or a response without looking into a group: its columns in the trace."""

from __future__ import annotations

from groupsim.protocol.messages.group import (
    Api,
    FindCoordinatorRequest,
    LeaveGroupRequest,
    Request,
    Response,
)

TITLES: dict[Api, str] = {api: api.title for api in Api}
"""The api column of the trace."""


def group_of(request: Request) -> str | None:
    """The group a request is about; None when it is about no single one."""
    if type(request) is FindCoordinatorRequest:
        return request.key if request.key_type == 0 else None
    return getattr(request, "group_id", None)


def member_of(request: Request) -> str | None:
    """The member id a request carries; None when it carries none (a first join, a commit from outside)."""
    if type(request) is LeaveGroupRequest:
        ids = [leaving.member_id for leaving in request.members]
        return (ids[0] or None) if len(ids) == 1 else None
    return getattr(request, "member_id", None) or None


def generation_of(message: Request | Response) -> int | None:
    """The generation a message carries, None when it carries none."""
    generation: int | None = getattr(message, "generation_id", None)
    return generation if generation is not None and generation >= 0 else None
