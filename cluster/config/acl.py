"""The properties that turn the authorizer on.

Source: `StandardAuthorizer.configure`, `SecurityUtils.parseKafkaPrincipal`.
"""

from __future__ import annotations

from typing import Final

from attrs import frozen

AUTHORIZER: Final = "authorizer.class.name"
SUPER_USERS: Final = "super.users"
ALLOW_EVERYONE: Final = "allow.everyone.if.no.acl.found"
SETTINGS: Final = (AUTHORIZER, SUPER_USERS, ALLOW_EVERYONE)

STANDARD: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
"""The one authorizer that is modelled: KRaft's own."""


@frozen
class AclConfig:
    """`authorizer` is the class named, "" for none; `super_users` may do everything.

    `allow_everyone`: with a resource that no ACL is about everybody may do everything, else only super users.
    """

    authorizer: str = ""
    super_users: frozenset[str] = frozenset()
    allow_everyone: bool = False

    @property
    def enabled(self) -> bool:
        """Whether there is an authorizer."""
        return bool(self.authorizer)


def read_authorizer(value: object) -> str:
    """The class of the authorizer. Raises ValueError for one that is not modelled, naming the one that is."""
    name = str(value).strip()
    if name not in ("", STANDARD):
        raise ValueError(f"{AUTHORIZER} cannot be {name!r}: the authorizer that there is here is {STANDARD}")
    return name


def read_super_users(value: object) -> frozenset[str]:
    """Principals with semicolons between. Raises ValueError for what is no principal."""
    users = [text.strip() for text in str(value).split(";") if text.strip()]
    for user in users:
        kind, colon, _ = user.partition(":")
        if not (kind and colon):
            raise ValueError(f"{SUPER_USERS}: {user!r} is no principal; write User:name, with ; between several")
    return frozenset(users)
