"""The properties of the authorizer."""

from __future__ import annotations

import pytest

from groupsim.cluster.config.acl import STANDARD, AclConfig
from groupsim.cluster.config.cluster import ClusterConfig


def test_kafkas_properties_turn_the_authorizer_on() -> None:
    """The properties have the names of server.properties; without the class the others have no effect."""
    given = {"authorizer.class.name": STANDARD, "super.users": "User:a; User:b ;"}
    config = ClusterConfig.from_properties({**given, "allow.everyone.if.no.acl.found": "true"})
    assert config.acl == AclConfig(STANDARD, frozenset({"User:a", "User:b"}), allow_everyone=True)
    assert config.acl.enabled
    assert not ClusterConfig.from_properties({"super.users": "User:a"}).acl.enabled
    assert not ClusterConfig.from_properties({"authorizer.class.name": ""}).acl.enabled


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("authorizer.class.name", "kafka.security.authorizer.AclAuthorizer", STANDARD),
        ("super.users", "admin", "'admin' is no principal; write User:name"),
        ("super.users", ":admin", "write User:name"),
        ("allow.everyone.if.no.acl.found", "yes", "must be true or false"),
    ],
)
def test_what_cannot_be_is_refused_with_the_remedy(name: str, value: str, says: str) -> None:
    """The error names the setting and what to write."""
    with pytest.raises(ValueError, match=says) as error:
        ClusterConfig.from_properties({name: value})
    assert name in str(error.value)
