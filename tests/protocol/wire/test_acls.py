"""CreateAcls, DescribeAcls, DeleteAcls on the wire, and topics that are hidden; kafka-python is the client."""

from __future__ import annotations

from base64 import b64encode
from typing import Any, ClassVar

import pytest

from groupsim.protocol.basics import Api
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.acl import (
    ANY,
    MATCH,
    Acl,
    AclFilter,
    CreateAclsRequest,
    CreateAclsResponse,
    DeleteAclsRequest,
    DeleteAclsResponse,
    DeletedAcls,
    DescribeAclsRequest,
    DescribeAclsResponse,
    Operation,
    Pattern,
    Permission,
    Resource,
)
from groupsim.protocol.messages.group import MetadataResponse, TopicInfo
from groupsim.protocol.wire import Unreadable
from groupsim.protocol.wire.headers import Header
from groupsim.protocol.wire.registry import READERS
from tests.helpers.wire_samples import frame, part, told, understood

VERSIONS = (1, 2, 3)
READ_G = Acl(Resource.GROUP, "g", Pattern.LITERAL, "User:ü", "10.0.0.1", Operation.READ, Permission.ALLOW)
DENIED_G = Acl(Resource.GROUP, "g", Pattern.LITERAL, "User:*", "*", Operation.ALL, Permission.DENY)
WRITE_T = Acl(Resource.TOPIC, "t", Pattern.PREFIXED, "User:x", "*", Operation.WRITE, Permission.ALLOW)


def creation(acl: Acl) -> Any:
    """An ACL as kafka-python has it in a CreateAcls."""
    fields = {"resource_type": acl.resource, "resource_name": acl.name, "resource_pattern_type": acl.pattern}
    fields |= {"principal": acl.principal, "host": acl.host, "operation": acl.operation}
    return part("CreateAcls", "AclCreation", **fields, permission_type=acl.permission)


def asked(acl: AclFilter) -> dict[str, Any]:
    """A filter as kafka-python has it."""
    fields = {"resource_type_filter": acl.resource, "resource_name_filter": acl.name}
    who = {"pattern_type_filter": acl.pattern, "principal_filter": acl.principal, "host_filter": acl.host}
    return {**fields, **who, "operation": acl.operation, "permission_type": acl.permission}


@pytest.mark.parametrize("version", VERSIONS)
def test_acls_are_created_in_the_order_of_the_request(version: int) -> None:
    """Each gets an error and words of its own."""
    exchange = understood(frame("CreateAcls", version, creations=[creation(READ_G), creation(WRITE_T)])).exchange
    assert exchange.requests == (CreateAclsRequest((READ_G, WRITE_T), version),)
    answer = CreateAclsResponse(((ErrorCode.NONE, ""), (ErrorCode.INVALID_REQUEST, "why")))
    results = told("CreateAcls", version, exchange.response([answer])).results
    assert [(one.error_code, one.error_message) for one in results] == [(0, ""), (42, "why")]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    "which", [AclFilter(), AclFilter(Resource.TOPIC, "t", MATCH, "User:x", "*", Operation.WRITE, Permission.DENY)]
)
def test_acls_are_told_under_their_resources(version: int, which: AclFilter) -> None:
    """A filter says null for any name, principal or host; ACLs of one pattern stand together."""
    exchange = understood(frame("DescribeAcls", version, **asked(which))).exchange
    assert exchange.requests == (DescribeAclsRequest(which, version),)
    answer = DescribeAclsResponse(message="", acls=(READ_G, WRITE_T, DENIED_G))
    said = told("DescribeAcls", version, exchange.response([answer]))
    assert (said.error_code, said.error_message) == (0, "")
    resources = [(one.resource_type, one.resource_name, one.pattern_type) for one in said.resources]
    assert resources == [(3, "g", 3), (2, "t", 4)]
    entries = [[(a.principal, a.host, a.operation, a.permission_type) for a in one.acls] for one in said.resources]
    assert entries == [[("User:ü", "10.0.0.1", 3, 3), ("User:*", "*", 2, 2)], [("User:x", "*", 4, 3)]]


@pytest.mark.parametrize("version", VERSIONS)
def test_deleted_acls_are_told_by_filter(version: int) -> None:
    """Each filter with what it took, or with its error."""
    filters = (AclFilter(name="g"), AclFilter(operation=Operation.ALTER))
    message = [part("DeleteAcls", "DeleteAclsFilter", **asked(one)) for one in filters]
    exchange = understood(frame("DeleteAcls", version, filters=message)).exchange
    assert exchange.requests == (DeleteAclsRequest(filters, version),)
    answer = DeleteAclsResponse((DeletedAcls(acls=(READ_G,)), DeletedAcls(ErrorCode.POLICY_VIOLATION, "many")))
    first, second = told("DeleteAcls", version, exchange.response([answer])).filter_results
    (gone,) = first.matching_acls
    assert (gone.resource_name, gone.principal, gone.operation, gone.error_code) == ("g", "User:ü", 3, 0)
    assert (second.error_code, second.error_message, list(second.matching_acls)) == (44, "many", [])


@pytest.mark.parametrize("version", VERSIONS)
def test_a_refusal_says_the_error_for_each(version: int) -> None:
    """As many results as there were ACLs or filters; a DescribeAcls has one."""
    created = understood(frame("CreateAcls", version, creations=[creation(READ_G)] * 2)).exchange
    results = told("CreateAcls", version, created.refusal(ErrorCode.NOT_CONTROLLER)).results
    assert [one.error_code for one in results] == [41, 41]
    described = understood(frame("DescribeAcls", version, **asked(AclFilter()))).exchange
    assert told("DescribeAcls", version, described.refusal(ErrorCode.NOT_CONTROLLER)).error_code == 41


@pytest.mark.parametrize("name", ["resource", "pattern", "operation", "permission"])
def test_an_acl_of_an_unknown_kind_ends_the_connection(name: str) -> None:
    """A 4.4.0 broker cannot read such a request; kinds above those it knows it can, and refuses them with words."""
    values = {"resource": 3, "pattern": 3, "operation": 3, "permission": 3, name: 0}
    with pytest.raises(Unreadable, match="CreateAcls 3: an ACL of an unknown kind"):
        understood(frame("CreateAcls", 3, creations=[creation(Acl(**values, name="g", principal="User:x", host="*"))]))
    values[name] = 99
    understood(frame("CreateAcls", 3, creations=[creation(Acl(**values, name="g", principal="User:x", host="*"))]))


@pytest.mark.parametrize(
    ("which", "takes"),
    [
        (AclFilter(), True),
        (AclFilter(resource=Resource.TOPIC), False),
        (AclFilter(name="g"), True),
        (AclFilter(name="ga"), False),
        (AclFilter(name="g", pattern=Pattern.PREFIXED), False),
        (AclFilter(name="g", pattern=MATCH), True),
        (AclFilter(principal="User:ü"), True),
        (AclFilter(principal="User:*"), False),
        (AclFilter(host="*"), False),
        (AclFilter(operation=Operation.ALL), False),
        (AclFilter(operation=Operation.READ, permission=Permission.ALLOW), True),
        (AclFilter(permission=Permission.DENY), False),
        (AclFilter(operation=99), False),
    ],
)
def test_a_filter_takes_what_agrees_in_all_it_names(which: AclFilter, takes: bool) -> None:
    """Whatever it leaves open may be anything; wildcards of ACLs are ordinary values to it."""
    assert which.takes(READ_G) is takes


def test_a_filter_that_matches_takes_all_patterns_that_concern_a_name() -> None:
    """The name itself, the wildcard, prefixes of it."""
    which = AclFilter(ANY, "topic", MATCH)

    def of(name: str, pattern: Pattern) -> Acl:
        return Acl(Resource.TOPIC, name, pattern, "User:x", "*", Operation.READ, Permission.ALLOW)

    assert which.takes(of("topic", Pattern.LITERAL))
    assert which.takes(of("*", Pattern.LITERAL))
    assert which.takes(of("t", Pattern.PREFIXED))
    assert not which.takes(of("t", Pattern.LITERAL))
    assert not which.takes(of("topics", Pattern.PREFIXED))


class _Hidden:
    """A directory of as many topics as one likes, each called as its id is."""

    cluster_id = "cluster-of-22-letters-"
    controller = 1

    def topic_id(self, name: str) -> str | None:
        return name

    topic_name = topic_id


class _Counted(str):
    """An id that counts with how many others it is compared."""

    __slots__ = ()
    compared: ClassVar[int] = 0
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        _Counted.compared += 1
        return str.__eq__(self, other)


def test_hidden_topics_are_called_by_their_ids_and_each_is_looked_up_once() -> None:
    """Metadata by id of thousands that may not be seen: no name is told, and the work grows with their number."""
    count, _Counted.compared = 2_000, 0
    ids = [_Counted(b64encode(number.to_bytes(16, "big"), b"-_").decode()[:22]) for number in range(1, count + 1)]
    fields = {"topics": [{"name": None, "topic_id": one} for one in ids]}
    exchange = READERS[Api.METADATA](fields, Header(Api.METADATA, 12, 7, "tests"), _Hidden())  # type: ignore[arg-type]
    refused = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    pieces = [request.topics for request in exchange.requests]  # type: ignore[union-attr]
    hidden = [MetadataResponse((), tuple(TopicInfo(name, refused) for name in piece)) for piece in pieces]
    answer = told("Metadata", 12, exchange.response(hidden))
    assert [topic.name for topic in answer.topics] == [None] * count
    assert sorted(topic.topic_id.int for topic in answer.topics) == [*range(1, count + 1)]
    assert _Counted.compared < 20 * count
