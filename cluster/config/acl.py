"""The properties that turn the authorizer on.

Source: `StandardAuthorizer.configure`, `SecurityUtils.parseKafkaPrincipal`.
"""

from __future__ import annotations

from typing import Final

from groupsim.protocol.values import frozen

AUTHORIZER: Final = "authorizer.class.name"
SUPER_USERS: Final = "super.users"
ALLOW_EVERYONE: Final = "allow.everyone.if.no.acl.found"
SETTINGS: Final = (AUTHORIZER, SUPER_USERS, ALLOW_EVERYONE)

STANDARD: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
"""The only modelled authorizer, which is KRaft's."""


@frozen
class AclConfig:
    """`authorizer` is a class name, "" for none; `super_users` may perform every operation.

    `allow_everyone`: every caller may perform every operation on a resource without an ACL, not only super users.
    """

    authorizer: str = ""
    super_users: frozenset[str] = frozenset()
    allow_everyone: bool = False

    @property
    def enabled(self) -> bool:
        """Whether the cluster has an authorizer."""
        return bool(self.authorizer)


def read_authorizer(value: object) -> str:
    """Return the authorizer's class. Raises ValueError for a class that is not modelled, with the one that is."""
    name = str(value).strip()
    if name not in ("", STANDARD):
        raise ValueError(f"{AUTHORIZER} cannot be {name!r}: the only authorizer here is {STANDARD}")
    return name


def read_super_users(value: object) -> frozenset[str]:
    """Return principals from a text with semicolons between them. Raises ValueError for an invalid principal."""
    users = [text.strip() for text in str(value).split(";") if text.strip()]
    for user in users:
        kind, colon, _ = user.partition(":")
        if not (kind and colon):
            raise ValueError(f"{SUPER_USERS}: {user!r} is no principal; write User:name, with ; between several")
    return frozenset(users)
