"""A random walk through one group: its moves, how one is played on a peer, and what comes of it.

A move is one request on one connection, written with references instead of ids (`@a`: the member id that connection a
was given last, `["@a", 1]`: its generation and one more), so that the same move can be made on any broker. The walk is
played twice: first on the real broker, at a pace of one move in 200 ms, where `choosing.Chooser` draws each move from
what has been said so far; then on the core in virtual time, with the real broker's member ids and at the very same
times. So the core's timers and the real ones see the same world, and every answer has to be equal.

Each move is followed by a look: DescribeGroups on a connection of its own, which is part of the transcript. A request
that may park is given 60 ms; then the look goes out, and its answer is taken whenever it comes. What came when is
compared too, within 250 ms. The timeouts of a walk are chosen so that a timer that was set by a move ends between two
later moves, even after another timer; the rest of the races on a busy machine are told apart by playing a walk that
differs again (`walk.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import define, evolve, field, frozen

from tests.conformance.actor import Actor
from tests.conformance.basics import PATIENCE_US, Mark, ScriptFailed, Step, Topic
from tests.conformance.bodies import Body, decode
from tests.conformance.cases import Case
from tests.conformance.consumer.member import Member
from tests.conformance.live import RELEASE
from tests.conformance.peers import Closed, Peer
from tests.conformance.player import KINDS, SETTINGS
from tests.conformance.script import Script
from tests.conformance.scripts.transactions import Producer
from tests.conformance.transcript import Transcript, differences, transcript_of

PACE_US = 200_000
PARKS_US = 60_000
COLLECT_US = 12_000
DISTURBED_US = 50_000
REST_US = 10_000
"""Between an answer and the look: some errors are answered before the group that was made with them is committed."""
LATE_US = 250_000
TOPIC = "walk-topic"
PARTITIONS = 2
OTHER = "walk-other"
TOPICS = {TOPIC: PARTITIONS, OTHER: 3}
"""Topics of walks of the consumer protocol; classic ones have the first alone."""
NO_TOPIC = Topic("walk-none", "11111111-2222-4333-8444-555555555555")
SLOTS = ("a", "b", "c", "d", "e")
OUTSIDE, PRODUCER, WATCH = "o", "p", "w"
PARKING = ("park_join", "park_sync", "raw")
ON_A_PRODUCER = ("init", "add_offsets", "txn", "end")
CONSUMER = "consumer-walk"
"""How walks of the consumer protocol (KIP-848) are called."""
MIXED, EXPIRING = f"{CONSUMER}-mixed", f"{CONSUMER}-expiring"
"""How those with members of both protocols are called, and those whose sessions end."""
_SHORT_SESSIONS = {"group.consumer.session.timeout.ms": 1_100, "group.consumer.heartbeat.interval.ms": 300}


def is_consumer(name: str) -> bool:
    """Whether a walk of that name is one of the consumer protocol."""
    return name.startswith(CONSUMER)


def release_of(name: str) -> str:
    """The release that a walk of that name is played on, which stands between `@` and `-`; "" is the newest one."""
    return name.partition("@")[2].partition("-")[0]


def settings_of(name: str) -> dict[str, object]:
    """What peers are started with for a walk of that name."""
    if not is_consumer(name):
        return SETTINGS
    release = {RELEASE: release_of(name)} if release_of(name) else {}
    return KINDS["consumer"] | (_SHORT_SESSIONS if name.startswith(EXPIRING) else {}) | release


@frozen
class Move:
    """`what` (a method of Actor or Producer, "wait", "hang_up") on connection `who`, with references in `args`."""

    who: str
    what: str
    args: Mapping[str, Any] = field(factory=dict)


@frozen
class Walked:
    """A walk that is over: its moves, when (µs since its beginning) each was made and looked at, what was said.

    `times` has one entry more than there are moves: the end.
    """

    moves: Sequence[Move]
    times: Sequence[tuple[int, int]]
    transcript: Transcript
    arrivals: Sequence[int | None]
    order: Sequence[tuple[str, int]]
    """For each request in the order of sending: its connection, and its number there."""
    failure: str | None = None


class Walker(Actor):
    """A connection of a walk: takes whatever is answered."""

    arrived: Callable[[Step, int], None]

    @property
    def busy(self) -> bool:
        """A request of it waits: nothing else is read from the connection before it is answered."""
        return bool(self._waiting)

    async def answer(self, *, error: str = "NONE", due: object = None, patience_us: int = PATIENCE_US) -> Body:
        """The next answer, if one comes; what it says is for the transcript to tell."""
        if not self._waiting:
            return {}
        correlation, step = self._waiting[0]
        try:
            got = None if step.response == "closed" else await self._line.receive(patience_us)
        except Closed:
            step.response = "closed"
            got = None
        if got is None:
            if step.response == "closed":
                self._waiting.clear()
            return {}
        self._waiting.pop(0)
        told, body = decode(step.api, step.version, got[0])
        if told != correlation:
            raise ScriptFailed(f"{self.name}: {step.api}: correlation id {told}, expected {correlation}")
        step.response = body
        self.mark = Mark(self.mark.lo_us, got[1])
        self.arrived(step, got[1])
        self._learn(step.api, body)
        return body


class ConsumerWalker(Walker, Member):
    """A connection of a walk of the consumer protocol, which classic requests go out on as well."""

    def _learn(self, api: str, body: Body) -> None:
        super()._learn(api, body)
        if api == "ConsumerGroupHeartbeat":
            self.generation = self.epoch


@define(eq=False)
class Play:
    """One play of a walk on one peer: its connections and what they have learnt."""

    script: Script
    statics: Mapping[str, str]
    """Which connections at the beginning are static members, by their instance ids."""
    begun_us: int = 0
    actors: dict[str, Walker] = field(factory=dict)
    slots: dict[str, str] = field(factory=dict)
    """The connection that each of the five stands for now; it is another one after a hang-up."""
    state: str = "Dead"
    members: int = 0
    arrivals: dict[int, int] = field(factory=dict)
    topics: Mapping[str, Topic] = field(factory=dict)
    """By their letters in moves: `t`, and `u` in walks of the consumer protocol."""
    classic_look: bool = False
    """The group is not one of the consumer protocol: the next look is DescribeGroups."""
    producer: Producer | None = None

    @property
    def topic(self) -> Topic:
        """The topic of every walk."""
        return self.topics["t"]

    @property
    def is_consumer(self) -> bool:
        """Whether this is a walk of the consumer protocol."""
        return is_consumer(self.script.id)

    async def open(self, topics: Sequence[Topic] | None) -> None:
        """Connect, and make the topics unless they are there."""
        count = len(TOPICS) if self.is_consumer else 1
        made = list(
            topics or [Topic(one, await self.script.peer.create_topic(one, TOPICS[one])) for one in [*TOPICS][:count]]
        )
        self.topics = dict(zip("tu", made[:count], strict=False))
        for suffix, topic in zip(("", ".u"), self.topics.values(), strict=False):
            self.script.topics[suffix] = topic
            self.script.topics_made.append((suffix, topic))
        for name in (*SLOTS, OUTSIDE, PRODUCER, WATCH):
            await self._connect(name, self.statics.get(name))
        self.slots = {name: name for name in SLOTS}
        self.producer = Producer(self.script, self.actors[PRODUCER], self.script.named(".x"))
        self.begun_us = self.script.peer.now_us

    async def _connect(self, name: str, instance: str | None) -> None:
        made = ConsumerWalker if self.is_consumer else Walker
        actor = made(self.script, name, await self.script.peer.connect(name), instance)
        if isinstance(actor, ConsumerWalker):
            actor.member_id = name
        actor.arrived = self._arrived
        self.actors[name] = self.script.actors[name] = actor

    def _arrived(self, step: Step, at_us: int) -> None:
        self.arrivals[id(step)] = at_us - self.begun_us

    async def until(self, at_us: int) -> int:
        """Sleep until so many µs after the beginning; the time it is then."""
        peer = self.script.peer
        if (left := self.begun_us + at_us - peer.now_us) > 0:
            await peer.sleep(left)
        return self.now_us

    @property
    def now_us(self) -> int:
        """Since the beginning."""
        return self.script.peer.now_us - self.begun_us

    async def collect(self) -> None:
        """Take what has arrived."""
        for actor in list(self.actors.values()):
            if actor.busy:
                await actor.answer(patience_us=1_000)

    async def look(self) -> None:
        """DescribeGroups; of a consumer group ConsumerGroupDescribe."""
        watch = self.actors[WATCH]
        if isinstance(watch, ConsumerWalker) and not self.classic_look:
            told = await watch.look(v=1)
            self.classic_look = told.get("groups", [{}])[0].get("error_code") == "GROUP_ID_NOT_FOUND"
        else:
            told = await watch.describe(v=5)
            self.classic_look = self.is_consumer and told.get("groups", [{}])[0].get("group_state") != "Dead"
        for group in told.get("groups", ()):
            self.state, self.members = group["group_state"], len(group["members"])

    async def make(self, move: Move, parks_us: int = PARKS_US) -> None:
        """Make a move and take its answer, or see that it parks."""
        if move.what == "wait":
            return
        actor = self.actors[move.who]
        if actor.busy and move.what != "hang_up":
            self.script.steps.append(Step(move.who, move.what, 0, {}, "busy"))
        elif move.what == "hang_up":
            await actor.hang_up()
            actor._waiting.clear()
            await self._connect(move.args["new"], actor.instance)
            self.slots |= {slot: move.args["new"] for slot, name in self.slots.items() if name == move.who}
        elif move.what in ON_A_PRODUCER:
            await self._produce(move)
        else:
            if move.what == "raw":
                await actor.post(move.args["api"], move.args["v"], self._filled(move.args["body"]))
            else:
                await getattr(actor, move.what)(**self.resolved(move.args))
            if move.what in PARKING:
                await actor.answer(patience_us=parks_us)

    def _filled(self, value: Any) -> Any:
        """A drawn body with what its references stand for (`drawing`)."""
        if isinstance(value, dict):
            return {name: self._filled(item) for name, item in value.items()}
        if isinstance(value, list):
            of = value[0] if len(value) == 2 and isinstance(value[1], int) else None
            return self._number(of, value[1]) if isinstance(of, str) else [self._filled(item) for item in value]
        if not isinstance(value, str) or value[:1] not in ("@", "$"):
            return value
        if value[0] == "@":
            return self.actors[value[1:]].member_id
        named = {"$t": self.topic.name, "$t#": self.topic.topic_id, "$none": NO_TOPIC.name, "$none#": NO_TOPIC.topic_id}
        return named.get(value) or self.script.named(value.removeprefix("$g") if value != "$x" else ".x")

    def _number(self, of: str, more: int) -> int:
        producer = self.producer
        assert producer is not None
        known = {"pid": producer.pid, "epoch": producer.epoch}
        return (known[of] if of in known else self.actors[of[1:]].generation) + more

    async def _produce(self, move: Move) -> None:
        args = self.resolved(move.args)
        producer = self.producer
        assert producer is not None
        if stale := args.pop("epoch", 0):
            producer = evolve(producer, epoch=producer.epoch + stale)
        if move.what == "txn":
            await producer.commit(args.pop("v"), args.pop("offsets"), **args)
        else:
            await getattr(producer, move.what)(**args)

    def resolved(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments as the framework's own methods take them."""
        return {name: self._resolve(name, value) for name, value in args.items()}

    def _resolve(self, name: str, value: Any) -> Any:
        if name == "owned" and isinstance(value, str):
            member = self.actors[value[1:]]
            return member.held if isinstance(member, ConsumerWalker) else None
        if name in ("offsets", "topics", "owned") and value is not None:
            return {self.topics.get(key, NO_TOPIC): _numbers(of) for key, of in value.items()}
        if name == "names" and value is not None:
            return [self.topics.get(key, NO_TOPIC) for key in value]
        if name == "give":
            return {self.actors[key]: text for key, text in value.items()}
        if name == "members":
            return [(self._resolve("member", who), instance) for who, instance in value]
        if name == "groups":
            return [self.script.named(suffix) for suffix in value]
        if name in ("generation", "epoch") and isinstance(value, list):
            return self.actors[value[0][1:]].generation + value[1]
        if name == "member" and isinstance(value, list):
            return None if value[0] is None else self._resolve("member", value[0]), self._resolve("epoch", value[1])
        if name in ("member", "protocol") and isinstance(value, str) and value.startswith("@"):
            actor = self.actors[value[1:]]
            return actor.member_id if name == "member" else actor.protocol
        return value


def _numbers(of: Any) -> Any:
    return {int(number): offset for number, offset in of.items()} if isinstance(of, Mapping) else of


Source = Callable[[Play], Move | None]
"""The next move of a play; None when it is over."""


def the_same(moves: Sequence[Move], *, skip_busy: bool = False) -> Source:
    """Moves that are given; `skip_busy` leaves out those whose connection waits for an answer."""
    left = list(moves)

    def next_move(play: Play) -> Move | None:
        while left:
            move = left.pop(0)
            actor = play.actors.get(move.who)
            if move.what == "wait" or (actor is not None and not (skip_busy and _cannot(actor, move))):
                return move
        return None

    return next_move


def _cannot(actor: Walker, move: Move) -> bool:
    return actor.busy and move.what != "hang_up"


async def walk(
    play: Play, source: Source, topics: Sequence[Topic] | None = None, times: Sequence[tuple[int, int]] | None = None
) -> Walked:
    """Play a walk: at its own pace, or at the times of another play of it. Raises ScriptFailed."""
    await play.open(topics)
    moves: list[Move] = []
    made: list[tuple[int, int]] = []
    due = 0
    for number in range(1_000):
        if times is not None:
            due = times[number][0]
        await play.until(due - COLLECT_US)
        await play.collect()
        now = await play.until(due)
        move = source(play)
        if move is None:
            break
        moves.append(move)
        await play.make(move, PARKS_US if times is None else max(1, times[number][1] - now))
        looked = await play.until(play.now_us + REST_US if times is None else times[number][1])
        await play.look()
        made.append((now, looked))
        due = now + PACE_US * max(1, move.args.get("paces", 1))
    end = await play.until(due + PACE_US // 2 if times is None else due)
    await play.collect()
    return _walked(play, moves, [*made, (end, end)])


def later(real: Walked, part: float) -> list[tuple[int, int]]:
    """The times of a walk, each moved towards its answer: somewhere between the two the broker did it."""
    times, last, at = [], 0, 0
    for move, (made, looked) in zip(real.moves, real.times, strict=False):
        if move.what not in ("wait", "hang_up"):
            arrived = real.arrivals[at]
            made += round(part * (min(looked, looked if arrived is None else arrived) - made))
            at += 1
        answered = real.arrivals[at] or looked
        at += 1
        made = max(made, last)
        last = max(made, looked + round(part * (answered - looked)))
        times.append((made, last))
    return [*times, *((max(end, last), max(end, last)) for end, _ in real.times[-1:])]


def disturbed(real: Walked) -> bool:
    """The machine was busy: an answer that has to come at once took longer than a move may take to be seen."""
    last = 0
    for (line, number), arrived in zip(real.order, real.arrivals, strict=True):
        if line == WATCH and arrived is not None:
            last = max(last, arrived - real.times[number - 1][1])
    return last > DISTURBED_US or any(looked - made > PARKS_US + DISTURBED_US for made, looked in real.times)


def _walked(play: Play, moves: Sequence[Move], times: Sequence[tuple[int, int]]) -> Walked:
    counts: dict[str, int] = {}
    order = []
    for step in play.script.steps:
        counts[step.actor] = counts.get(step.actor, 0) + 1
        order.append((step.actor, counts[step.actor]))
    arrivals = [play.arrivals.get(id(step)) for step in play.script.steps]
    return Walked(moves, times, transcript_of(play.script), arrivals, order)


def case_of(name: str) -> Case:
    """What the framework calls a walk."""

    async def nothing(script: Script) -> None:
        raise ScriptFailed("a walk is played by `walking.walk`")

    table = "consumer_walk" if is_consumer(name) else "walk"
    return Case(table, name, None, nothing, (), of_release=release_of(name))


def begin(name: str, peer: Peer, statics: Mapping[str, str], nonce: str = "") -> Play:
    """A play that has not begun."""
    return Play(Script(case_of(name), peer, nonce), statics)


def found(real: Walked, ours: Walked) -> list[str]:
    """What differs, in the order of the requests: what was said, and when."""
    place = {f"{line}, request {number}": at for at, (line, number) in enumerate(real.order)}
    lines = differences(real.transcript, ours.transcript, members_in_order=True)
    lines.sort(key=lambda line: place.get(line.split(":")[0], len(place)))
    if lines or real.order != ours.order:
        return lines or ["the requests are not the same"]
    late = []
    for (line, number), there, here in zip(real.order, real.arrivals, ours.arrivals, strict=True):
        if there is not None and here is not None and abs(there - here) > LATE_US:
            late.append(f"{line}, request {number}: answered at {there / 1e3:.0f} ms there, {here / 1e3:.0f} ms here")
    return late
