"""ACLs on a broker without an authorizer, and what it says may be done (`AclApis`, `AuthHelper`)."""

from __future__ import annotations

from tests.conformance.acls import GROUP, TOPIC, entry, make
from tests.conformance.script import Script, script
from tests.conformance.scripts.acl_requests import drop, tell


@script(rows=["1.2-authorization-disabled"], versions=(1, 2, 3))
async def without_an_authorizer(s: Script) -> None:
    a = await s.actor("a")
    disabled = "SECURITY_DISABLED"
    await make(a, entry(GROUP, s.group), entry(TOPIC, ""), v=s.v, error=disabled)
    await tell(a, v=s.v, error=disabled)
    await drop(a, {"kind": GROUP}, {"kind": TOPIC}, v=s.v, error=disabled)


@script(rows=["1.2-authorization-disabled"], versions=(8, 10, 11, 13))
async def operations_without_an_authorizer(s: Script) -> None:
    a, t = await s.actor("a"), await s.topic()
    topic = {"name": t.name, "topic_id": "00000000-0000-0000-0000-000000000000"}
    asked = {"include_topic_authorized_operations": True, "include_cluster_authorized_operations": True}
    await a.ask("Metadata", s.v, {"topics": [topic], "allow_auto_topic_creation": False, **asked})


@script(rows=["1.2-authorization-disabled"], versions=(0, 1))
async def the_cluster_without_an_authorizer(s: Script) -> None:
    a = await s.actor("a")
    await a.ask("DescribeCluster", s.v, {"include_cluster_authorized_operations": True})
