"""The rules of StandardAuthorizer, one by one."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from groupsim.cluster.acl.rules import Caller, StandardAuthorizer
from groupsim.cluster.config.acl import STANDARD, AclConfig
from groupsim.protocol.messages.acl import Acl, Operation, Pattern, Permission, Resource
from tests.helpers.acl_stage import acl

ME = Caller("User:me", "10.0.0.1")
GROUP, TOPIC = Resource.GROUP, Resource.TOPIC
READ, WRITE, DESCRIBE = Operation.READ, Operation.WRITE, Operation.DESCRIBE
DENY = Permission.DENY


def authorizer(acls: Iterable[Acl], *, everyone: bool = False, super_users: Iterable[str] = ()) -> StandardAuthorizer:
    """An authorizer over these ACLs."""
    kept = frozenset(acls)
    return StandardAuthorizer(AclConfig(STANDARD, frozenset(super_users), everyone), lambda: kept)


def mine(name: str, operation: Operation = Operation.ALL, **others: object) -> Acl:
    """An ACL of a group for the caller of these tests."""
    return acl(GROUP, name, operation, principal="User:me", **others)  # type: ignore[arg-type]


def may(acls: Iterable[Acl], operation: Operation = READ, name: str = "orders") -> bool:
    """Whether these ACLs allow an operation with a group."""
    return authorizer(acls).allows(ME, operation, GROUP, name)


@pytest.mark.parametrize(
    ("allowed", "implied"),
    [
        (Operation.ALL, set(Operation)),
        (READ, {READ, DESCRIBE}),
        (WRITE, {WRITE, DESCRIBE}),
        (Operation.DELETE, {Operation.DELETE, DESCRIBE}),
        (Operation.ALTER, {Operation.ALTER, DESCRIBE}),
        (Operation.CREATE, {Operation.CREATE}),
        (Operation.ALTER_CONFIGS, {Operation.ALTER_CONFIGS, Operation.DESCRIBE_CONFIGS}),
        (Operation.DESCRIBE_CONFIGS, {Operation.DESCRIBE_CONFIGS}),
    ],
)
def test_what_allows_one_operation_allows_those_it_implies(allowed: Operation, implied: set[Operation]) -> None:
    """READ, WRITE, DELETE and ALTER imply DESCRIBE, ALTER_CONFIGS implies DESCRIBE_CONFIGS; nothing else is implied."""
    assert {each for each in Operation if may([mine("orders", allowed)], each)} == implied


def test_what_denies_an_operation_denies_that_one_alone() -> None:
    """A denied READ leaves DESCRIBE, and a denied ALL leaves nothing."""
    assert may([mine("orders"), mine("orders", READ, permission=DENY)], DESCRIBE)
    assert not may([mine("orders"), mine("orders", READ, permission=DENY)], READ)
    assert not may([mine("orders", READ), mine("orders", permission=DENY)], READ)


@pytest.mark.parametrize(
    ("name", "pattern", "fits"),
    [
        ("orders", Pattern.LITERAL, True),
        ("order", Pattern.LITERAL, False),
        ("orders-2", Pattern.LITERAL, False),
        ("*", Pattern.LITERAL, True),
        ("order", Pattern.PREFIXED, True),
        ("orders", Pattern.PREFIXED, True),
        ("orders-2", Pattern.PREFIXED, False),
        ("*", Pattern.PREFIXED, False),
    ],
)
def test_a_pattern_fits_by_its_name(name: str, pattern: Pattern, fits: bool) -> None:
    """A pattern matches the name itself, a prefix of it if PREFIXED, or every name if it is the literal wildcard."""
    assert may([mine(name, READ, pattern=pattern)]) is fits


@pytest.mark.parametrize(("name", "pattern"), [("*", Pattern.LITERAL), ("or", Pattern.PREFIXED)])
def test_a_denial_wins_from_whatever_pattern(name: str, pattern: Pattern) -> None:
    """A denial from any matching pattern wins over an ACL with the exact name."""
    assert not may([mine("orders", READ), mine(name, READ, pattern=pattern, permission=DENY)])


@pytest.mark.parametrize(
    ("principal", "host", "fits"),
    [
        ("User:me", "*", True),
        ("User:*", "*", True),
        ("User:me", "10.0.0.1", True),
        ("User:*", "10.0.0.1", True),
        ("User:me", "10.0.0.2", False),
        ("User:you", "*", False),
        ("User:Me", "*", False),
        ("Group:me", "*", False),
        ("*", "*", False),
    ],
)
def test_an_acl_is_for_a_principal_on_a_host(principal: str, host: str, fits: bool) -> None:
    """Principal and host have to be the caller's or the wildcard."""
    assert may([acl(GROUP, "orders", READ, principal=principal, host=host)]) is fits


def test_acls_of_another_kind_of_resource_say_nothing() -> None:
    """An ACL of a topic does not apply to a group of the same name."""
    assert not may([acl(TOPIC, "orders", READ, principal="User:me")])


def test_without_any_acl_of_a_resource_a_setting_decides() -> None:
    """`allow.everyone.if.no.acl.found` decides; an ACL for another principal is an ACL of the resource."""
    assert authorizer([], everyone=True).allows(ME, READ, GROUP, "orders")
    assert not authorizer([]).allows(ME, READ, GROUP, "orders")
    of_others = [acl(GROUP, "orders", DESCRIBE, principal="User:you")]
    assert not authorizer(of_others, everyone=True).allows(ME, READ, GROUP, "orders")
    assert authorizer(of_others, everyone=True).allows(ME, READ, GROUP, "payments")


def test_a_super_user_may_do_everything() -> None:
    """A super user is allowed everything, despite any ACL that denies."""
    rules = authorizer([acl(GROUP, "*", principal="User:*", permission=DENY)], super_users=["User:me"])
    assert rules.allows(ME, READ, GROUP, "orders")
    assert rules.allows_by_type(ME, WRITE, TOPIC)
    assert not rules.allows(Caller("User:you", ME.host), READ, GROUP, "orders")


def test_a_verdict_holds_until_the_acls_change() -> None:
    """A cached decision ends when the ACLs change."""
    kept = [frozenset[Acl]()]
    rules = StandardAuthorizer(AclConfig(STANDARD), lambda: kept[0])
    assert not rules.allows(ME, READ, GROUP, "orders")
    kept[0] = frozenset({mine("orders", READ)})
    assert rules.allows(ME, READ, GROUP, "orders")
    kept[0] = frozenset()
    assert not rules.allows(ME, READ, GROUP, "orders")


def test_names_without_end_are_not_all_remembered() -> None:
    """The cache of decisions stays bounded when a client sends new group ids without end."""
    rules = authorizer([])
    for number in range(120_000):
        rules.allows(ME, READ, GROUP, f"g{number}")
    assert len(rules._decisions) <= 50_000


def topics(*acls: tuple[str, Pattern, Permission]) -> list[Acl]:
    """ACLs that allow or deny writing to topics."""
    return [
        acl(TOPIC, name, WRITE, principal="User:me", pattern=pattern, permission=permission)
        for name, pattern, permission in acls
    ]


ALLOW, LITERAL, PREFIXED = Permission.ALLOW, Pattern.LITERAL, Pattern.PREFIXED


@pytest.mark.parametrize(
    ("acls", "some"),
    [
        ([], False),
        ([("a", LITERAL, ALLOW)], True),
        ([("a", LITERAL, ALLOW), ("a", LITERAL, DENY)], False),
        ([("a", PREFIXED, ALLOW), ("a", LITERAL, DENY)], True),
        ([("a", PREFIXED, ALLOW), ("ab", PREFIXED, DENY)], True),
        ([("ab", PREFIXED, ALLOW), ("a", PREFIXED, DENY)], False),
        ([("ab", LITERAL, ALLOW), ("a", PREFIXED, DENY), ("b", LITERAL, ALLOW)], True),
        ([("*", LITERAL, ALLOW), ("a", PREFIXED, DENY)], True),
        ([("a", LITERAL, ALLOW), ("*", LITERAL, DENY)], False),
    ],
)
def test_some_resource_is_allowed_unless_denials_cover_all(
    acls: list[tuple[str, Pattern, Permission]], some: bool
) -> None:
    """Authorization by type needs one allowed name, existing or not, that no denial covers."""
    assert authorizer(topics(*acls)).allows_by_type(ME, WRITE, TOPIC) is some


def test_for_some_resource_nothing_is_implied() -> None:
    """WRITE implies DESCRIBE on a topic, but not in authorization by type."""
    assert not authorizer(topics(("a", LITERAL, ALLOW))).allows_by_type(ME, DESCRIBE, TOPIC)
