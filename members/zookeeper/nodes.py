"""Operations on nodes, each of several requests between which other clients may change the node.

Source: Kafka 0.8.2, `ZkUtils.createEphemeralPathExpectConflict`, `updatePersistentPath`, `deletePath`.
"""

from __future__ import annotations

from groupsim.members.zookeeper.session import ZooKeeperSession
from groupsim.protocol.messages.zookeeper import Create, Delete, GetData, SetData, ZkAnswer, ZkError


async def create(session: ZooKeeperSession, path: str, data: str, *, ephemeral: bool = False) -> ZkAnswer:
    """Create a node, and missing persistent nodes above it."""
    answer = await session.ask(Create(path, data, ephemeral))
    if answer.error is not ZkError.NO_NODE:
        return answer
    above = path.rpartition("/")[0]
    if above:
        await create(session, above, "")
    return await session.ask(Create(path, data, ephemeral))


async def claim(session: ZooKeeperSession, path: str, data: str) -> str | None:
    """Create an ephemeral node; return None if it is this client's, else its data.

    A node with the same data was created by an earlier attempt whose answer was lost.
    """
    answer = await create(session, path, data, ephemeral=True)
    if answer.error is ZkError.OK:
        return None
    stored = await session.ask(GetData(path))
    if stored.error is ZkError.OK and stored.data == data:
        return None
    return stored.data


async def write(session: ZooKeeperSession, path: str, data: str) -> None:
    """Set the data of a persistent node; create it if it is missing."""
    answer = await session.ask(SetData(path, data))
    if answer.error is ZkError.NO_NODE:
        made = await create(session, path, data)
        if made.error is ZkError.NODE_EXISTS:
            await session.ask(SetData(path, data))


async def remove(session: ZooKeeperSession, path: str) -> None:
    """Delete a node; a missing one is no error."""
    await session.ask(Delete(path))


async def read(session: ZooKeeperSession, path: str) -> str | None:
    """Return a node's data; None without the node."""
    answer = await session.ask(GetData(path, watch=session.watches.is_subscribed(path)))
    return answer.data if answer.error is ZkError.OK else None
