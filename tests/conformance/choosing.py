"""Draws the moves of a walk: mostly what a client would do next, now and then what none should."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from attrs import define, field

from tests.conformance.basics import subscription
from tests.conformance.drawing import request
from tests.conformance.walking import OUTSIDE, PRODUCER, SLOTS, TOPIC, WATCH, Move, Play, Walker

SESSIONS = (60_000, 60_000, 60_000, 450, 850)
REBALANCES = (60_000, 60_000, 520, 1_120)
BAD_SESSIONS = (99, 60_001, 0, -1)
OFFERS: tuple[Mapping[str, str], ...] = (
    {"range": "r"},
    {"range": "r", "roundrobin": "rr"},
    {"roundrobin": "rr", "range": "r"},
    {"sticky": "s", "cooperative-sticky": "cs", "range": "r"},
)
ODD_OFFERS: tuple[Mapping[str, str], ...] = (
    {},
    {"sticky": "s"},
    {"range": "other"},
    {"roundrobin": "rr"},
    {"range": subscription(TOPIC)},
    {"range": subscription("walk-other"), "roundrobin": subscription(TOPIC)},
)
SOME_OFFSETS: tuple[Mapping[str, Mapping[str, int]], ...] = (
    {"t": {"0": 1}},
    {"t": {"0": 2, "1": 3}},
    {"t": {"1": 4}},
    {"t": {"0": 5}, "none": {"0": 5}},
    {"t": {"0": 6, "7": 1}},
    {"none": {"0": 1}},
    {},
)
STATES = ("Stable", "empty", " PreparingRebalance", "CompletingRebalance", "Dead", "nonsense")
TYPES = ("classic", "Consumer", "share", "nonsense")


@define
class Chooser:
    """The moves of one walk, drawn from its seed and from what has been said."""

    seed: int
    drawn: float = 0.0
    """How many of its moves are requests that are drawn field by field."""
    dice: random.Random = field(init=False)
    left: int = field(init=False)
    versions: dict[str, int] = field(init=False)
    offers: dict[str, Mapping[str, str]] = field(init=False)
    sessions: dict[str, int] = field(init=False)
    rebalances: dict[str, int] = field(init=False)
    statics: dict[str, str] = field(init=False)
    count: int = field(init=False)
    added: bool = False
    written: bool = False
    pauses: int = 0

    def __attrs_post_init__(self) -> None:
        dice = self.dice = random.Random(self.seed)
        self.left = dice.randint(18, 34)
        self.count = dice.choice((1, 2, 2, 3, 3, 4, 5))
        common = dice.choice(OFFERS)
        self.versions = {name: dice.choice((9, 9, 9, 8, 5, 4, 3, 2, 1, 0)) for name in SLOTS}
        self.offers = {name: common if dice.random() < 0.7 else dice.choice(OFFERS) for name in SLOTS}
        self.sessions = {name: dice.choice(SESSIONS) for name in SLOTS}
        self.rebalances = {name: dice.choice(REBALANCES) for name in SLOTS}
        chance = dice.choice((0.0, 0.0, 0.4, 0.8))
        self.statics = {name: dice.choice(("i", "j", "k")) for name in SLOTS if dice.random() < chance}
        for name in self.statics:
            self.versions[name] = dice.choice((9, 9, 8, 6, 5, 5, 4))

    def __call__(self, play: Play) -> Move | None:
        """The next move; None when the walk is over."""
        self.left -= 1
        if self.left < 0:
            return None
        if self.pauses:
            self.pauses -= 1
            return Move("", "wait", {"paces": 2})
        if self.drawn and self.dice.random() < self.drawn:
            return self._drawn(play)
        draw = self.dice.random()
        if draw < 0.60:
            return self._sensible(play) or self._wait()
        if draw < 0.66:
            return self._wait()
        if draw < 0.78:
            return self._offsets(play)
        if draw < 0.86:
            return self._odd_member(play)
        if draw < 0.92:
            return self._administration(play)
        if draw < 0.97:
            return self._transaction(play)
        return self._hang_up(play) or self._wait()

    def _wait(self) -> Move:
        return Move("", "wait", {"paces": self.dice.choice((1, 2, 5))})

    # --- what a client would do ----------------------------------------------------------------------------------

    def _members(self, play: Play) -> list[tuple[str, Walker]]:
        chosen = [(slot, play.actors[play.slots[slot]]) for slot in SLOTS[: self.count]]
        return [(slot, actor) for slot, actor in chosen if not actor.busy]

    def _sensible(self, play: Play) -> Move | None:
        free = self._members(play)
        if not free:
            return None
        slot, actor = self.dice.choice(free)
        if not actor.member_id or actor.generation < 0 or play.members == 0:
            return self._join(play, slot, actor)
        if play.state == "CompletingRebalance":
            return self._sync(play, slot, actor)
        if play.state == "PreparingRebalance":
            again = self.dice.random() < 0.75
            return self._join(play, slot, actor) if again else self._heartbeat(actor)
        return self._stable(play, slot, actor)

    def _stable(self, play: Play, slot: str, actor: Walker) -> Move:
        draw = self.dice.random()
        if draw < 0.25:
            return self._heartbeat(actor)
        if draw < 0.45:
            return self._join(play, slot, actor)
        if draw < 0.60:
            return self._sync(play, slot, actor)
        if draw < 0.72:
            return self._leave(actor)
        return self._commit(actor, actor)

    def _join(self, play: Play, slot: str, actor: Walker, **others: Any) -> Move:
        dice = self.dice
        version = self.versions[slot] if dice.random() < 0.9 else dice.randint(0, 9)
        member: Any = f"@{actor.name}"
        if actor.instance and dice.random() < 0.2:
            member = ""
        if play.members == 0 and actor.generation >= 0 and dice.random() < 0.8:
            member = ""
        args = {
            "v": version,
            "protocols": dict(self.offers[slot]),
            "session": self.sessions[slot],
            "rebalance": self.rebalances[slot],
            "member": member,
        }
        if dice.random() < 0.12:
            args["protocols"] = dict(dice.choice((*ODD_OFFERS, *OFFERS)))
        if dice.random() < 0.08:
            args["session"], args["rebalance"] = dice.choice(SESSIONS), dice.choice(REBALANCES)
        return Move(actor.name, "park_join", args | others)

    def _sync(self, play: Play, slot: str, actor: Walker, **others: Any) -> Move:
        names = [play.slots[other] for other in SLOTS[: self.count]]
        given = [name for name in names if self.dice.random() < 0.8] if actor.leads or self.dice.random() < 0.1 else []
        version = self.dice.choice((5, 5, 5, 4, 3, 2, 1, 0))
        give = {name: "" if self.dice.random() < 0.1 else f"for {name}" for name in given}
        args = {"v": version, "give": give, "member": f"@{actor.name}", "generation": [f"@{actor.name}", 0]}
        args["protocol"] = f"@{actor.name}"
        return Move(actor.name, "park_sync", args | others)

    def _heartbeat(self, actor: Walker, **others: Any) -> Move:
        return Move(actor.name, "heartbeat", {"v": self.dice.choice((4, 4, 3, 2, 1, 0)), **others})

    def _leave(self, actor: Walker, **others: Any) -> Move:
        instance = actor.instance if self.dice.random() < 0.5 else None
        version = self.dice.choice((5, 5, 4, 3, 2, 1, 0))
        return Move(actor.name, "leave", {"v": version, "members": [[f"@{actor.name}", instance]], **others})

    def _commit(self, on: Walker, of: Walker, **others: Any) -> Move:
        args: dict[str, Any] = {
            "v": self.dice.choice((10, 9, 9, 8, 7, 6, 5, 3, 2)),
            "offsets": self.dice.choice(SOME_OFFSETS),
        }
        args |= {"member": f"@{of.name}", "generation": [f"@{of.name}", 0]}
        if self.dice.random() < 0.15:
            args["metadata"] = self.dice.choice(("m", "x" * 4096, "x" * 4097, None))
        if self.dice.random() < 0.1:
            args["leader_epoch"] = 3
        return Move(on.name, "commit", args | others)

    # --- what none should ----------------------------------------------------------------------------------------

    def _anybody(self, play: Play) -> str:
        """A reference to a member id: somebody's, an unknown one, or none."""
        pool = [name for name in play.actors if play.actors[name].member_id]
        draw = self.dice.random()
        return "" if draw < 0.12 or not pool else "stranger" if draw < 0.24 else f"@{self.dice.choice(pool)}"

    def _generation(self, play: Play, actor: Walker) -> Any:
        return self.dice.choice(([f"@{actor.name}", 0], [f"@{actor.name}", 0], [f"@{actor.name}", -1], -1, 0, 1, 2, 9))

    def _odd_member(self, play: Play) -> Move:
        dice = self.dice
        free = [actor for name, actor in play.actors.items() if not actor.busy and name not in (PRODUCER, "w")]
        actor = dice.choice(free)
        slot = dice.choice(SLOTS)
        member, instance = self._anybody(play), dice.choice((None, None, None, "i", "j", "k"))
        like = play.actors[member[1:]] if member.startswith("@") else actor
        generation = self._generation(play, like)
        what = dice.choice(("join", "join", "join", "sync", "sync", "heartbeat", "leave", "leave", "leave"))
        if what == "join":
            return self._odd_join(play, slot, actor, member, instance)
        if what == "sync":
            odd: dict[str, Any] = {"member": member, "generation": generation, "instance": instance}
            odd["protocol_type"] = dice.choice(("consumer", "consumer", None, "connect"))
            odd["protocol"] = dice.choice((f"@{like.name}", f"@{like.name}", None, "nonsense"))
            return self._sync(play, slot, actor, **odd)
        if what == "heartbeat":
            return self._heartbeat(actor, member=member, generation=generation, instance=instance)
        leaving = [[self._anybody(play), dice.choice((None, None, "i", "j"))] for _ in range(dice.choice((0, 1, 2, 3)))]
        version = dice.choice((5, 4, 3)) if len(leaving) != 1 else dice.randint(0, 5)
        return Move(actor.name, "leave", {"v": version, "members": leaving})

    def _odd_join(self, play: Play, slot: str, actor: Walker, member: str, instance: str | None) -> Move:
        dice = self.dice
        odd: dict[str, Any] = {"member": member, "instance": instance}
        draw = dice.random()
        if draw < 0.2:
            odd["session"] = dice.choice(BAD_SESSIONS)
        elif draw < 0.4:
            odd["protocol_type"] = dice.choice(("connect", "", "consumer"))
        elif draw < 0.7:
            odd["protocols"] = dict(dice.choice(ODD_OFFERS))
        elif draw < 0.8:
            odd["rebalance"] = dice.choice((0, 1_120, -1))
        return self._join(play, slot, actor, **odd)

    def _hang_up(self, play: Play) -> Move | None:
        parked = [play.actors[name] for name in play.slots.values() if play.actors[name].busy]
        every = parked or [play.actors[name] for name in play.slots.values()]
        actor = self.dice.choice(every)
        slot, _, number = actor.name.partition("_")
        return Move(actor.name, "hang_up", {"new": f"{slot}_{int(number or 1) + 1}"})

    def _drawn(self, play: Play) -> Move:
        """A request field by field."""
        free = [name for name, actor in play.actors.items() if not actor.busy and name not in (PRODUCER, WATCH)]
        known = [name for name, actor in play.actors.items() if actor.member_id]
        api, version, body = request(self.dice, known)
        return Move(self.dice.choice(free), "raw", {"api": api, "v": version, "body": body})

    # --- outside clients -----------------------------------------------------------------------------------------

    def _offsets(self, play: Play) -> Move:
        dice = self.dice
        outside = play.actors[OUTSIDE]
        what = dice.choice(("commit", "commit", "fetch", "fetch", "delete"))
        if what == "fetch" or outside.busy:
            return self._fetch(play)
        if what == "delete":
            asked = dice.choice(({"t": [0]}, {"t": [0, 1]}, {"t": [0, 7]}, {"none": [0]}, {"none": [0], "t": [1]}, {}))
            return Move(OUTSIDE, "delete_offsets", {"topics": asked})
        member = self._anybody(play)
        like = play.actors[member[1:]] if member.startswith("@") else outside
        odd: dict[str, Any] = {"generation": self._generation(play, like), "member": member}
        if dice.random() < 0.4:
            odd = {"generation": -1, "member": ""}
        odd["instance"] = dice.choice((None, None, None, "i", "j"))
        return self._commit(outside, like, **odd)

    def _fetch(self, play: Play) -> Move:
        dice = self.dice
        version = dice.randint(1, 10)
        topics = dice.choice(({"t": [0, 1]}, {"t": [0, 1, 7], "none": [0]}, {"t": [1]}, None))
        if topics is None and version < 2:
            topics = {"t": [0]}
        args: dict[str, Any] = {"v": version, "topics": topics, "stable": version >= 7 and dice.random() < 0.5}
        if version >= 9 and dice.random() < 0.3:
            args["member"] = [dice.choice((self._anybody(play), None)), dice.choice((-1, 0, 1, 5))]
        if version >= 8 and dice.random() < 0.2:
            args["groups"] = dice.choice((["", ".2"], [".2"], [""]))
        return Move(self._admin(play), "fetch", args)

    def _admin(self, play: Play) -> str:
        return OUTSIDE if not play.actors[OUTSIDE].busy else PRODUCER

    def _administration(self, play: Play) -> Move:
        dice = self.dice
        who = self._admin(play)
        what = dice.choice(("describe", "list", "list", "delete", "find"))
        if what == "describe":
            args: dict[str, Any] = {"v": dice.randint(0, 6), "groups": dice.choice(([""], ["", ".2"], [".2"]))}
            return Move(who, what, args | {"operations": args["v"] >= 3 and dice.random() < 0.3})
        if what == "list":
            version = dice.randint(0, 5)
            states = dice.sample(STATES, dice.randint(0, 2)) if version >= 4 else []
            types = dice.sample(TYPES, dice.randint(0, 2)) if version >= 5 else []
            return Move(who, what, {"v": version, "states": states, "types": types})
        if what == "delete":
            return Move(who, what, {"v": dice.randint(0, 2), "groups": dice.choice(([""], ["", ".2"]))})
        return Move(who, what, {"v": dice.randint(0, 6), "keys": [], "key_type": dice.choice((0, 0, 1))})

    def _transaction(self, play: Play) -> Move:
        """Offsets in a transaction that knows of the group; whatever ends one is given time for its markers."""
        dice = self.dice
        producer = play.producer
        assert producer is not None
        if producer.pid < 0 or dice.random() < 0.1:
            self.added, self.written, self.pauses = False, False, 2
            return Move(PRODUCER, "init", {"v": dice.randint(0, 4)})
        if not self.added:
            self.added = True
            return Move(PRODUCER, "add_offsets", {"v": dice.randint(0, 3)})
        if dice.random() < 0.3:
            self.added, self.pauses = False, 2
            return Move(PRODUCER, "end", {"v": dice.randint(0, 3), "commit": dice.random() < 0.6})
        member = self._anybody(play)
        like = play.actors[member[1:]] if member.startswith("@") else play.actors[PRODUCER]
        args: dict[str, Any] = {"v": dice.randint(0, 4), "offsets": dice.choice(SOME_OFFSETS), "member": member}
        args |= {"generation": self._generation(play, like), "instance": dice.choice((None, None, None, "i", "j"))}
        if dice.random() < 0.5:
            args |= {"generation": -1, "member": "", "instance": None}
        if dice.random() < 0.15:
            args["metadata"] = dice.choice(("m", "x" * 4097))
        if self.written and dice.random() < 0.1:
            args["epoch"] = -1  # before anything is written only a verification (KIP-890) would notice
        self.written = self.written or (args["member"] == "" and args["generation"] == -1 and "0" in _known(args))
        return Move(PRODUCER, "txn", args)


def _known(args: Mapping[str, Any]) -> Mapping[str, int]:
    """The offsets of the topic that is there."""
    offsets: Mapping[str, int] = args["offsets"].get("t", {})
    return offsets if len(args.get("metadata", "")) < 4_097 else {}
