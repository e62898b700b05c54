"""What scripts are written with: a `Script` is one play, an `Actor` one connection of it.

A script is an async function that gets a `Script`; `@script` gives it the rows of docs/fidelity/ that it proves and
the versions it is repeated at. Every step says which error it expects (NONE unless told), so that a script is a claim
about Kafka already while it is recorded; what is compared later is all the rest of the answers.

    @script(rows=["1.5-stable"], versions=(0, 4))
    async def a_heartbeat_of_a_stable_member(s: Script) -> None:
        a = await s.actor("a")
        await s.form(a)
        await a.heartbeat(v=s.v)
        await a.heartbeat(v=s.v, generation=7, error="ILLEGAL_GENERATION")

Requests that may park are sent with `park_…` and answered with `answer()`; between the two a script awaits what can be
seen of them (`until`), or, where nothing can be seen, lets the broker take them (`settle`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any
from zlib import crc32

from attrs import define, field

from groupsim.coordinator.base.placement import partition_for
from tests.conformance import stored
from tests.conformance.actor import LATER as LATER
from tests.conformance.actor import Actor as Actor
from tests.conformance.basics import DELAY_MS as DELAY_MS
from tests.conformance.basics import (
    PATIENCE_US,
    POLL_US,
    SETTLE_US,
    Mark,
    ScriptFailed,
    Step,
    TimingFailed,
    in_time,
)
from tests.conformance.basics import Topic as Topic
from tests.conformance.bodies import Body, as_bytes, decode, encode
from tests.conformance.cases import ALONE
from tests.conformance.cases import CASES as CASES
from tests.conformance.cases import Case as Case
from tests.conformance.cases import script as script
from tests.conformance.consumer import records
from tests.conformance.consumer.member import Member
from tests.conformance.nodes import Hands, fetch_from
from tests.conformance.peers import Line, Peer

NOT_SERVED = ("NOT_COORDINATOR", "COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE")
OFFSETS_PARTITIONS = 4
MANY_PARTITIONS = 50
CAUGHT_UP_MS = 700
"""After so long a new leader knows what is committed: until the followers have fetched, reads see an older view."""


def asked_of(topic: str) -> Body:
    """A Metadata request of one topic."""
    body: Body = {"topics": [{"topic_id": None, "name": topic}], "allow_auto_topic_creation": False}
    body |= {"include_cluster_authorized_operations": False, "include_topic_authorized_operations": False}
    return body


def _is_led(partitions: int, told: Body) -> bool:
    """Whether a node knows leaders of so many partitions."""
    leaders = [partition["leader_id"] for partition in told["topics"][0]["partitions"]]
    return len(leaders) == partitions and all(leader >= 0 for leader in leaders)


@define(eq=False)
class Script:
    """One play of one case on one peer. `group` is a group of its own; `v` the version it is played at.

    `node` is where the group's coordinator is, and where actors connect to.
    """

    case: Case
    peer: Peer
    nonce: str
    hands: Hands | None = None
    steps: list[Step] = field(factory=list)
    actors: dict[str, Actor] = field(factory=dict)
    topics: dict[str, Topic] = field(factory=dict)
    topics_made: list[tuple[str, Topic]] = field(factory=list)
    node: int = 0
    last_sent_us: int = 0
    _observer: Line | None = None
    _reader: Line | None = None
    _polls: int = 0

    @property
    def id(self) -> str:
        """The case's name."""
        return self.case.id

    @property
    def v(self) -> int:
        """The version of this play."""
        assert self.case.version is not None
        return self.case.version

    @property
    def group(self) -> str:
        """The group of this play."""
        return self.named("")

    @property
    def away(self) -> str:
        """A loopback address that no other play comes from; transcripts call it `$away`."""
        drawn = crc32(self.named("").encode())
        return f"127.{1 + drawn % 250}.{drawn >> 8 & 255}.{1 + (drawn >> 16) % 250}"

    def named(self, suffix: str) -> str:
        """A name that no other play has; the same in every transcript."""
        return f"{self.id}{suffix}{self.nonce}"

    async def actor(self, name: str = "a", *, instance: str | None = None, host: str | None = None) -> Actor:
        """A connection with that client id; `instance` makes it a static member, `host` says where it comes from."""
        line = await self.peer.connect(name, self.node, host)
        actor = self.actors[name] = Actor(self, name, line, instance)
        return actor

    async def member(self, name: str = "a", *, instance: str | None = None, known_as: str | None = None) -> Member:
        """A connection of a member of the consumer protocol; its member id is its name, or `known_as`."""
        member = Member(self, name, await self.peer.connect(name, self.node), instance)
        member.member_id = name if known_as is None else known_as
        self.actors[name] = member
        return member

    async def members(self, count: int) -> list[Member]:
        """So many of them: a, b, c, …"""
        return [await self.member("abcdefgh"[number]) for number in range(count)]

    async def pair(self) -> tuple[Actor, Actor]:
        """Two connections, a and b."""
        return await self.actor("a"), await self.actor("b")

    async def pair_in_session(self, session: int) -> tuple[Actor, Actor]:
        """Two members in a stable group; the second one's session is so many milliseconds long."""
        a, b = await self.pair()
        await a.enter()
        await self.until("PreparingRebalance", 1)
        await b.enter(session=session)
        await self.until("PreparingRebalance", 2)
        await self.joined(a, b)
        await self.synced(a, b)
        return a, b

    async def topic(self, suffix: str = "", partitions: int = 1) -> Topic:
        """A topic of this play's own."""
        name = self.named(f".t{suffix}")
        topic = self.topics[suffix] = Topic(name, await self.peer.create_topic(name, partitions))
        self.topics_made.append((suffix, topic))
        for node in sorted(self.cluster.listening) if self.case.nodes > 1 else ():
            await self.awaited("Metadata", 10, asked_of(name), partial(_is_led, partitions), node)
        return topic

    async def awaited(
        self, api: str, version: int, body: Body, good: Callable[[Body], bool], node: int | None = None
    ) -> Body:
        """Ask again and again until an answer is good; it stands in no transcript. Raises TimingFailed."""
        line = await self.peer.connect("watch", self.node if node is None else node)
        for number in range(1, PATIENCE_US // POLL_US):
            await line.send(encode(api, version, number, "watch", body))
            got = await line.receive(PATIENCE_US)
            if got is None:
                raise ScriptFailed(f"{self.id}: {api} was not answered")
            told = decode(api, version, got[0])[1]
            if good(told):
                await line.close()
                return told
            await self.peer.sleep(POLL_US)
        raise TimingFailed(f"{self.id}: {api} says after all that time: {told}")

    async def after(self, ms: int, mark: Mark) -> None:
        """Let time pass until so many ms after that mark."""
        await self.peer.sleep(max(0, mark.hi_us + ms * 1_000 - self.peer.now_us))

    async def delete_topic(self, topic: Topic) -> None:
        """Delete a topic and wait until it is gone."""
        await self.peer.delete_topic(topic.name)

    def no_topic(self) -> Topic:
        """A topic that is not there."""
        return Topic(self.named(".none"), "11111111-2222-4333-8444-555555555555")

    async def settle(self) -> None:
        """Give the broker time to take what was sent and cannot be seen."""
        await self.peer.sleep(SETTLE_US)

    async def sleep(self, ms: int) -> None:
        """Let time pass."""
        await self.peer.sleep(ms * 1_000)

    async def until(
        self,
        state: str,
        members: int | None = None,
        *,
        due: tuple[int, Mark] | None = None,
        group: str | None = None,
    ) -> Mark:
        """Wait until DescribeGroups tells that state and so many members; the mark begins with the last request."""
        asked_us, began_us = self.last_sent_us, self.peer.now_us
        while True:
            told = await self._look(self.group if group is None else group)
            now = self.peer.now_us
            if told[0] == state and members in (None, told[1]):
                if due is not None:
                    in_time(f"{self.id}: {state}", now, *due)
                return Mark(asked_us, now)
            if now > began_us + PATIENCE_US // 2:  # it may have been so too shortly to be seen
                raise TimingFailed(f"{self.id}: waited for {state} with {members} members, there is {told}")
            await self.peer.sleep(POLL_US)

    async def still(self, state: str, members: int | None = None) -> None:
        """What came before fell into that state: the broker is in it now. Raises TimingFailed when it has gone on."""
        told = await self._look(self.group)
        if told[0] != state or members not in (None, told[1]):
            raise TimingFailed(f"{self.id}: too slow for {state} with {members} members, there is {told}")

    def within(self, ms: int, mark: Mark) -> None:
        """What came before came within so many ms after that mark. Raises TimingFailed when it was slower."""
        took_us = self.peer.now_us - mark.lo_us
        if took_us > ms * 1_000:
            raise TimingFailed(f"{self.id}: too slow, {took_us / 1e3:.1f} ms in place of {ms}")

    async def _look(self, group: str) -> tuple[str, int]:
        if self._observer is None:
            self._observer = await self.peer.connect("observer", self.node)
        self._polls += 1
        body = {"groups": [group], "include_authorized_operations": False}
        await self._observer.send(encode("DescribeGroups", 5, self._polls, "observer", body))
        got = await self._observer.receive(PATIENCE_US)
        if got is None:
            raise ScriptFailed(f"{self.id}: DescribeGroups was not answered")
        (told,) = decode("DescribeGroups", 5, got[0])[1]["groups"]
        wrong = told["error_code"] != "NONE"
        return told["error_code"] if wrong else told["group_state"], len(told["members"])

    # --- several nodes ---------------------------------------------------------------------------------------------

    @property
    def cluster(self) -> Hands:
        """The nodes of a script that handles them: entered with `nodes=3`, or of kind `alone`."""
        assert self.hands is not None, f"{self.id} does not handle its nodes"
        return self.hands

    @property
    def partition(self) -> int:
        """The group's partition of the offsets topic."""
        return self.partition_of(self.group)

    def partition_of(self, group: str) -> int:
        """A group's partition of the offsets topic."""
        return partition_for(group, MANY_PARTITIONS if self.case.kind in ALONE else OFFSETS_PARTITIONS)

    async def settle_at_coordinator(self) -> Mark:
        """Find the group's coordinator and wait until it serves; actors connect there from now on."""
        asked_us = self.peer.now_us
        self.node = await self.cluster.leader(self.partition)
        await self._look_anew()
        for _ in range(PATIENCE_US // POLL_US):
            if (await self._look(self.group))[0] not in NOT_SERVED:
                break
            await self.peer.sleep(POLL_US)
        return Mark(asked_us, self.peer.now_us)

    async def move(self) -> Mark:
        """The group's coordinator moves to the next node in order; actors stay where they are until they `go`."""
        began_us = self.peer.now_us
        nodes = sorted(self.cluster.up)
        committed = await self.cluster.high_watermark(self.partition)
        await self.cluster.move(self.partition, nodes[(nodes.index(self.node) + 1) % len(nodes)])
        served = await self.settle_at_coordinator()
        await self.sleep(CAUGHT_UP_MS)
        await self.caught_up(committed)
        return Mark(began_us, served.hi_us)

    async def caught_up(self, offset: int) -> None:
        """Wait until the group's partition is committed up to here, as its leader knows it."""
        while await self.cluster.high_watermark(self.partition) < offset:
            await self.peer.sleep(POLL_US)

    async def restart(self, **settings: object) -> Mark:
        """The one node is stopped and started again, on its data, with these settings besides its own.

        Names have `_` for each dot. The mark: from its start until it serves the group; actors `follow`.
        """
        await self.cluster.restart({name.replace("_", "."): value for name, value in settings.items()})
        began_us = self.cluster.started_us
        return Mark(began_us, (await self.settle_at_coordinator()).hi_us)

    async def restart_into_load(self) -> None:
        """The node is started again, and is asked as soon as it listens. Raises TimingFailed when it has loaded."""
        await self.cluster.restart({})
        await self._look_anew()
        await self.until("COORDINATOR_LOAD_IN_PROGRESS")

    async def _look_anew(self) -> None:
        if self._observer is not None:
            await self._observer.close()
        self._observer = None

    async def follow(self, *actors: Actor) -> None:
        """These connect to the coordinator anew."""
        for actor in actors:
            await actor.go(await self.peer.connect(actor.name, self.node))

    # --- the offsets topic -----------------------------------------------------------------------------------------

    async def log_of(self, partition: int) -> list[tuple[bytes | None, bytes | None]]:
        """Key and value of every committed record of a partition of the offsets topic, from its beginning."""
        found: list[tuple[bytes | None, bytes | None]] = []
        at, end = 0, 1
        while at < end:
            told = await self._read("Fetch", 12, fetch_from(partition, at, 10_000_000))
            (one,) = told["responses"][0]["partitions"]
            if one["error_code"] == "OFFSET_OUT_OF_RANGE":
                at = one["log_start_offset"]
                continue
            if one["error_code"] != "NONE":
                raise ScriptFailed(f"{self.id}: Fetch of partition {partition}: {one['error_code']}")
            data, end = as_bytes(one["records"]), one["high_watermark"]
            found += stored.records_in(data)
            at = max(at + 1, stored.end_of(data, at))
        return found

    async def on_log(self, group: str | None = None) -> list[Body]:
        """What the log has of a group, in order; it stands in the transcript, too."""
        named = self.group if group is None else group
        told: list[Body] = []
        in_words = self.case.table.startswith("consumer_")
        hashes: dict[int, str] = {}
        for key, value in await self.log_of(self.partition_of(named)):
            if in_words and key and int.from_bytes(key[:2], "big") in records.TYPES:
                what = records.key_of(key)
                if what["group_id"] == named:
                    found = records.value_of(what["type"], value)
                    told.append({"key": what, "value": records.plain(what["type"], found, hashes)})
                continue
            what = stored.key_of(key)
            if what["group_id"] == named:
                told.append({"key": what, "value": stored.value_of(what["type"], value)})
        self.note("on the log", told)
        return told

    async def _read(self, api: str, version: int, body: Body) -> Body:
        """A request about the log, to the node of the group."""
        if self.hands is not None:
            return await self.hands.ask(api, version, body, self.node)
        if self._reader is None:
            self._reader = await self.peer.connect("reader", self.node)
        await self._reader.send(encode(api, version, 1, "reader", body))
        got = await self._reader.receive(PATIENCE_US)
        if got is None:
            raise TimingFailed(f"{self.id}: {api} was not answered")
        return decode(api, version, got[0])[1]

    def note(self, what: str, value: Any) -> None:
        """Something found out by the way stands in the transcript, too."""
        self.steps.append(Step("found", what, 0, {}, {"found": value}))

    async def write(self, partition: int, *records: tuple[bytes, bytes | None], error: str = "NONE") -> None:
        """Write records behind the coordinator's back, as the one client that may write to internal topics."""
        batch = stored.batch_of(records, round(self.peer.now_us / 1e3))
        await self.cluster.write(partition, batch, error=error)

    # --- what scripts often do -----------------------------------------------------------------------------------

    async def gather(self, *actors: Actor, before: int = 0, **others: Any) -> None:
        """Newcomers join one after the other and wait; `before` are the members the group has already.

        With none before, all of them have to come in the initial delay, which each prolongs. Raises TimingFailed.
        """
        last = None
        for count, actor in enumerate(actors, before + 1):
            await actor.enter(**others)
            seen = await self.until("PreparingRebalance", count)
            if last is not None and not before and seen.hi_us > last.lo_us + DELAY_MS * 1_000:
                raise TimingFailed(f"{self.id}: too slow for the initial delay of {DELAY_MS} ms")
            last = seen

    async def joined(self, *actors: Actor) -> None:
        """The round is over: everybody is told."""
        for actor in actors:
            await actor.answer()

    async def synced(self, *actors: Actor, **others: Any) -> None:
        """The leader among them gives everybody an assignment; all are Stable."""
        (leader,) = (actor for actor in actors if actor.leads)
        for actor in actors:
            if actor is not leader:
                await actor.park_sync(**others)
        await self.settle()
        await leader.sync(give={actor: f"for {actor.name}" for actor in actors}, **others)
        for actor in actors:
            if actor is not leader:
                await actor.answer()

    async def form(self, *actors: Actor, **others: Any) -> None:
        """A Stable group of these newcomers, the first its leader."""
        await self.gather(*actors, **others)
        await self.joined(*actors)
        await self.synced(*actors)

    async def emptied(self, a: Actor) -> None:
        """A group that this member formed alone, and left."""
        await self.form(a)
        await a.leave()
        await self.until("Empty", 0)

    async def awaiting(self, leader: Actor, follower: Actor, v: int = 5) -> None:
        """A group of these two newcomers; the follower's SyncGroup waits for the leader's."""
        await self.complete(leader, follower)
        await follower.park_sync(v)
        await self.settle()

    async def from_completing_on(self, check: Callable[[], Awaitable[None]], a: Actor, b: Actor) -> None:
        """Check while a, the only member, has yet to sync, then in Stable, then while b's join waits for a's."""
        await check()
        await self.synced(a)
        await check()
        await self.gather(b, before=1)
        await check()

    async def again(self, *actors: Actor, **others: Any) -> None:
        """A further round of members of a Stable group, the leader first: everybody joins and is told."""
        for actor in actors:
            await actor.park_join(**others)
            if actor is actors[0] and len(actors) > 1:
                await self.until("PreparingRebalance")
        await self.joined(*actors)

    async def complete(self, *actors: Actor, **others: Any) -> None:
        """A group of these newcomers that waits for its leader's SyncGroup."""
        await self.gather(*actors, **others)
        await self.joined(*actors)
