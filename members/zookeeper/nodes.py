"""Small things done to znodes, each of several requests that may be answered by another's doing in between.

Source: Kafka 0.8.2, `ZkUtils.createEphemeralPathExpectConflict`, `updatePersistentPath`, `deletePath`.
"""

from __future__ import annotations

from groupsim.members.zookeeper.session import ZooKeeperSession
from groupsim.protocol.messages.zookeeper import Create, Delete, GetData, SetData, ZkAnswer, ZkError


async def create(session: ZooKeeperSession, path: str, data: str, *, ephemeral: bool = False) -> ZkAnswer:
    """Make a node, and the persistent nodes above it where they are missing."""
    answer = await session.ask(Create(path, data, ephemeral))
    if answer.error is not ZkError.NO_NODE:
        return answer
    above = path.rpartition("/")[0]
    if above:
        await create(session, above, "")
    return await session.ask(Create(path, data, ephemeral))


async def claim(session: ZooKeeperSession, path: str, data: str) -> str | None:
    """Make an ephemeral node; returns None when it is ours, else what another has written there.

    A node that holds what we meant to write was made by an attempt of ours whose answer was lost.
    """
    answer = await create(session, path, data, ephemeral=True)
    if answer.error is ZkError.OK:
        return None
    stored = await session.ask(GetData(path))
    if stored.error is ZkError.OK and stored.data == data:
        return None
    return stored.data


async def write(session: ZooKeeperSession, path: str, data: str) -> None:
    """Set a persistent node's data, whatever stood there; make it where it is missing."""
    answer = await session.ask(SetData(path, data))
    if answer.error is ZkError.NO_NODE:
        made = await create(session, path, data)
        if made.error is ZkError.NODE_EXISTS:
            await session.ask(SetData(path, data))


async def remove(session: ZooKeeperSession, path: str) -> None:
    """Delete a node, whoever made it; one that is gone is no trouble."""
    await session.ask(Delete(path))


async def read(session: ZooKeeperSession, path: str) -> str | None:
    """A node's data; None where there is none."""
    answer = await session.ask(GetData(path, watch=session.watches.is_subscribed(path)))
    return answer.data if answer.error is ZkError.OK else None
