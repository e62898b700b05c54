"""Kafka 0.8's high-level consumer: it registers, watches the others, decides alone, and claims its partitions.

Every member does the same at every change of membership or topics, without waiting for the others:

    stop fetching, drop fetched records, commit, remove the own claims
    read members and topics, compute the own share
    claim it partition by partition; after a collision remove the own claims, wait, and start again

The known problems follow from that. *Herd effect*: one change stops all members. *Split brain*: members read at
different times and claim partitions that others hold, until they have read the same or are out of retries. A process
that was paused for longer than its session continues with partitions that others own by then, until it learns of the
expiry.

Each thread of the original is a task: the application's (`streams.py`), the auto-committer, the watcher that
rebalances, and ZooKeeper's event thread, in which a new session registers and rebalances. A lock serializes
rebalances. A first rebalance that fails ends the process; a later one leaves a consumer that is registered and owns
nothing, while its share stays unclaimed.

Source: Kafka 0.8.2, `ZookeeperConsumerConnector`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from groupsim.eventloop.trace.events import Kind
from groupsim.eventloop.units import MS_US
from groupsim.members.behaviour import CommitPolicy
from groupsim.members.failures import ClientFailure
from groupsim.members.generation import Generation
from groupsim.members.member import Member
from groupsim.members.zookeeper.assignors import CannotDecide
from groupsim.members.zookeeper.fetchers import FromZookeeper
from groupsim.members.zookeeper.group_reader import GroupReader
from groupsim.members.zookeeper.lock import Lock
from groupsim.members.zookeeper.nodes import claim, create, read, remove
from groupsim.members.zookeeper.offsets import Offsets
from groupsim.members.zookeeper.paths import TOPICS, GroupPaths, Registration, stream_of
from groupsim.members.zookeeper.session import EXPIRED, SessionLink, ZooKeeperSession
from groupsim.members.zookeeper.settings import ZookeeperSettings
from groupsim.members.zookeeper.streams import Streams
from groupsim.protocol.messages.group import NO_GENERATION, TopicPartition
from groupsim.protocol.messages.zookeeper import ZOOKEEPER_NODE, ZkError

UNREGISTERED: Final = "UNREGISTERED"
REGISTERED: Final = "REGISTERED"
REBALANCING: Final = "REBALANCING"
CONSUMING: Final = "CONSUMING"


def consumer_id(member: Member) -> str:
    """Return group_host-timestamp-uuid8, unique for each process; its order is that of the ranges."""
    draws = member.stream_factory("consumer-id")()
    return f"{member.group}_{member.host.name}-{member.now_us // MS_US}-{draws.below(1 << 32):08x}"


class Connector:
    """One process of a consumer. `run` is the application's thread."""

    def __init__(
        self,
        member: Member,
        settings: ZookeeperSettings,
        registration: Registration,
        fetcher: FromZookeeper,
        connect: Callable[[], SessionLink],
    ) -> None:
        loop = member.loop
        self._member = member
        self._settings = settings
        self._registration = registration
        self._fetcher = fetcher
        self._id = consumer_id(member)
        self._paths = GroupPaths(member.group)
        self.session = ZooKeeperSession(
            loop, member.host, connect, settings.zookeeper_session_timeout_ms, self._new_session, self._connection
        )
        self._reader = GroupReader(self.session, self._paths, self._id)
        self._offsets = Offsets(member, self.session, self._paths)
        self._streams = Streams(member)
        self._lock = Lock(loop)
        self._triggered = loop.event()
        self._why = ""
        self._lost = False  # the session has expired: partitions are lost, not revoked
        self.state = UNREGISTERED
        member.generation = Generation(NO_GENERATION, self._id)

    # -- tasks --------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Consume until closing. Raises ClientFailure."""
        member = self._member
        member.membership.enter_poll()
        self.session.start()
        if self._auto:
            member.host.start_soon(self._auto_commit_loop, name=f"auto-commit of {member.host.name}")
        await self._register("started")
        await self._subscribe()
        await self._rebalance("started")
        while not member.closing:
            if await self._streams.next_batch() and member.behaviour.commit in _AFTER_BATCH:
                await self._offsets.commit(auto=False)

    async def _subscribe(self) -> None:
        member, watches = self._member, self.session.watches
        member.host.start_soon(self._watch, name=f"watcher executor of {member.host.name}")
        await watches.subscribe_children(self._paths.ids, self._members_changed)
        if self._registration.pattern is not None:
            await watches.subscribe_children(TOPICS, self._topics_changed)
        for topic in self._registration.topics:
            await watches.subscribe_data(f"{TOPICS}/{topic}", self._topics_changed)

    async def _watch(self) -> None:
        """Rebalance after a change; several changes in the meantime cause one rebalance."""
        while True:
            await self._triggered.wait()
            self._triggered.clear()
            try:
                await self._rebalance(self._why)
            except ClientFailure as failure:
                self._member.warn(f"error during syncedRebalance: {failure}")

    async def _members_changed(self) -> None:
        self._trigger("the consumers of the group have changed")

    async def _topics_changed(self) -> None:
        self._trigger("the topics have changed")

    def _trigger(self, why: str) -> None:
        self._why = why
        self._triggered.set()

    async def _auto_commit_loop(self) -> None:
        while True:
            await self._member.host.sleep(self._settings.auto_commit_interval_ms * MS_US)
            await self._offsets.commit(auto=True)

    @property
    def _auto(self) -> bool:
        return self._settings.auto_commit and self._member.behaviour.commit is CommitPolicy.AUTO

    # -- registration -------------------------------------------------------------------------------------------

    def _connection(self, connected: bool, reason: str) -> None:
        member = self._member
        if connected:
            member.emit(Kind.COORDINATOR_FOUND, payload={"node": ZOOKEEPER_NODE}, reason=reason)
        else:
            member.trace.begin(member.emit(Kind.COORDINATOR_LOST, reason=reason))
        if reason == EXPIRED:
            self._lost = True
            self._become(UNREGISTERED, reason)

    async def _register(self, reason: str) -> None:
        """Create the consumer's node, once that of an earlier session has expired."""
        path = self._paths.consumer(self._id)
        while True:
            data = self._registration.written(self._member.now_us // MS_US)
            answer = await create(self.session, path, data, ephemeral=True)
            if answer.error is ZkError.OK or await read(self.session, path) == data:
                break
            await self._member.host.sleep(self._settings.zookeeper_session_timeout_ms * MS_US)
        self._become(REGISTERED, reason)

    async def _new_session(self) -> None:
        """Start again after an expired session deleted all nodes: register and rebalance.

        Records consumed since the last commit are not committed: their partitions may have another owner.
        """
        self._offsets.registry = {}
        try:
            await self._register(EXPIRED)
            await self._rebalance(EXPIRED)
        except ClientFailure as failure:
            self._member.warn(f"error handling a new ZooKeeper session: {failure}")

    def _become(self, state: str, reason: str) -> None:
        before, self.state = self.state, state
        if before != state:
            member = self._member
            member.trace.begin(member.emit(Kind.CLIENT_STATE, from_=before, to=state, reason=reason))

    # -- rebalance ----------------------------------------------------------------------------------------------

    async def _rebalance(self, why: str) -> None:
        """Rebalance, with retries. Raises ClientFailure after the last attempt."""
        settings, member = self._settings, self._member
        async with self._lock:
            if member.closing:
                return
            self._become(REBALANCING, why)
            for attempt in range(settings.rebalance_max_retries):
                try:
                    await self._try()
                    self._become(CONSUMING, why)
                    return
                except CannotDecide as failed:
                    member.warn(f"try #{attempt} to rebalance failed: {failed}")
                await self._close_fetchers()
                await member.host.sleep(settings.rebalance_backoff_ms * MS_US)
            self._become(REGISTERED, "out of tries")
        tries = settings.rebalance_max_retries
        raise ClientFailure("ConsumerRebalanceFailedException", f"{self._id} can't rebalance after {tries} retries")

    async def _try(self) -> None:
        """Run one attempt. Raises CannotDecide when it fails."""
        await self._reader.brokers()
        await self._reader.registration(self._id)
        if not await self._reader.brokers():
            self._member.warn("no brokers found when trying to rebalance")
            return
        await self._close_fetchers()
        await self._remove_claims(list(self._offsets.registry))
        self._offsets.registry = {}
        share = await self._reader.share(self._settings.strategy)
        offsets = await self._offsets.look_up(share)
        await self._claim(share)
        self._start_fetchers(offsets)

    async def _close_fetchers(self) -> None:
        """Stop fetching and delivery, and commit delivered records of partitions still registered."""
        self._streams.clear()
        self._member.ownership.release_all("lost" if self._lost else "revoked")
        self._lost = False
        if self._auto:
            await self._offsets.commit(auto=True)

    async def _remove_claims(self, partitions: list[TopicPartition]) -> None:
        for partition in partitions:
            await remove(self.session, self._paths.owner(partition))

    async def _claim(self, share: tuple[TopicPartition, ...]) -> None:
        """Claim every partition of the share, or none: after a collision the claims are removed.

        Raises CannotDecide.
        """
        mine: list[TopicPartition] = []
        taken: list[str] = []
        for partition in share:
            other = await claim(self.session, self._paths.owner(partition), stream_of(self._id))
            if other is None:
                mine.append(partition)
            else:
                taken.append(f"{partition} ({other or 'just given up'})")
        if taken:
            await self._remove_claims(mine)
            raise CannotDecide(f"claimed by others still: {', '.join(taken)}")

    def _start_fetchers(self, offsets: dict[TopicPartition, int]) -> None:
        member = self._member
        self._streams.fetching = self._offsets.begin(offsets)
        member.ownership.choose(tuple(offsets))
        self._fetcher.begin(offsets)
        member.wake.set()

    # -- end of the process -------------------------------------------------------------------------------------

    async def shut_down(self) -> None:
        """Stop fetching, commit, and end the session: its nodes are deleted at once, and the others rebalance."""
        async with self._lock:
            self._streams.clear()
            self._member.ownership.release_all("closed")
            if self._auto:
                await self._offsets.commit(auto=True)
            await self.session.close()
        self._member.fetcher.close()
        self._member.links.close()

    def drop(self) -> None:
        """Close the connection of a process that dies; ZooKeeper waits for its session to expire."""
        self.session.drop()


_AFTER_BATCH: Final[Any] = (CommitPolicy.SYNC_AFTER_BATCH, CommitPolicy.ASYNC_AFTER_BATCH)
