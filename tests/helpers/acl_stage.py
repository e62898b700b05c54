"""What the tests of ACLs share: a short way to write one, and a cluster with an authorizer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from groupsim.cluster.config.acl import STANDARD, AclConfig
from groupsim.protocol.messages.acl import (
    ANONYMOUS,
    CLUSTER_NAME,
    Acl,
    CreateAclsRequest,
    Operation,
    Pattern,
    Permission,
    Resource,
)
from tests.helpers.replicated_stage import Stage, run

HOME, AWAY = "home", "away"


def acl(
    resource: Resource,
    name: str,
    operation: Operation = Operation.ALL,
    *,
    principal: str = ANONYMOUS,
    host: str = "*",
    pattern: Pattern = Pattern.LITERAL,
    permission: Permission = Permission.ALLOW,
) -> Acl:
    """One ACL."""
    return Acl(resource, name, pattern, principal, host, operation, permission)


class Guarded:
    """A cluster on which clients from `home` may do everything, and other clients nothing without an ACL."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage

    async def home(self, request: Any, node: int = 0) -> Any:
        """Return the answer to a client that may do everything."""
        return await self.stage.ask(node, request, HOME)

    async def away(self, request: Any, node: int = 0) -> Any:
        """Return the answer to a client from elsewhere."""
        return await self.stage.ask(node, request, AWAY)

    async def allow(self, *acls: Acl) -> None:
        """Create ACLs and wait until all brokers have them."""
        answer = await self.home(CreateAclsRequest(acls))
        assert [error for error, _ in answer.results if error] == []
        await self.stage.loop.sleep(1_000_000)


def guarded(story: Callable[[Guarded], Awaitable[None]], **config: Any) -> list[Any]:
    """Run a story on such a cluster."""

    async def begin(stage: Stage) -> None:
        cluster = Guarded(stage)
        everything = [acl(kind, "*", host=HOME) for kind in (Resource.TOPIC, Resource.GROUP, Resource.TRANSACTIONAL_ID)]
        await cluster.allow(*everything, acl(Resource.CLUSTER, CLUSTER_NAME, host=HOME))
        await story(cluster)

    return run(begin, acl=AclConfig(STANDARD, allow_everyone=True), **config)
