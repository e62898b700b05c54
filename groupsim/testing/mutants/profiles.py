"""Changes to the profile of a client, which is where a release's habits are."""

from __future__ import annotations

from typing import Any

from groupsim.members.profiles.reactions import Reaction
from groupsim.members.zookeeper.kinds import CLIENTS
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import Api
from groupsim.testing.patcher import Patcher


def change_profile(patch: Patcher, **changes: Any) -> None:
    """Change the client that a member has when it names none (`ClientProfile.but`)."""
    patch.setitem(CLIENTS, "java", CLIENTS["java"].but(**changes))


def change_reaction(patch: Patcher, api: Api, error: ErrorCode, reaction: Reaction) -> None:
    """Change what that client does about an error."""
    change_profile(patch, reactions={api: {error: reaction}})


def release_defect(patch: Patcher, name: str, client: str = "java") -> None:
    """Give a client, by default that one, a defect that releases had (docs/defects.md)."""
    patch.setitem(CLIENTS, client, CLIENTS[client].with_defects((name,)))
