"""What a broker can say about a request or a response without looking into a group: its columns in the trace."""

from __future__ import annotations

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
    """The group, the member id and the generation that a request carries.

    Each is None where it carries none (a first join, a commit from outside), or several.
    """
    group: str | None = getattr(request, "group_id", None)
    member: str | None = getattr(request, "member_id", None)
    if type(request) is FindCoordinatorRequest:
        group = request.key if request.key_type == 0 else None
    elif type(request) is LeaveGroupRequest:
        ids = [leaving.member_id for leaving in request.members]
        member = ids[0] if len(ids) == 1 else None
    generation: int = getattr(request, "generation_id", NO_GENERATION)
    return group, member or None, generation if generation >= 0 else None


def group_of(request: Request) -> str | None:
    """The group a request is about; None when it is about no single one."""
    return columns_of(request)[0]
