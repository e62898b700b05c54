"""Changes to a client's profile, which describes the behaviour of a release."""

from __future__ import annotations

from typing import Any

from groupsim.members.profiles.reactions import Reaction
from groupsim.members.zookeeper.kinds import CLIENTS
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import Api
from groupsim.testing.patcher import Patcher


def change_profile(patch: Patcher, **changes: Any) -> None:
    """Change the default client of members (`ClientProfile.but`)."""
    patch.setitem(CLIENTS, "java", CLIENTS["java"].but(**changes))


def change_reaction(patch: Patcher, api: Api, error: ErrorCode, reaction: Reaction) -> None:
    """Change the default client's reaction to an error."""
    change_profile(patch, reactions={api: {error: reaction}})


def release_defect(patch: Patcher, name: str, client: str = "java") -> None:
    """Give a client, by default the default client, a defect of its releases (docs/defects.md)."""
    patch.setitem(CLIENTS, client, CLIENTS[client].with_defects((name,)))
