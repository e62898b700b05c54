"""Draws the moves of a walk of the consumer protocol (KIP-848): heartbeats of members, and what else a group is asked.

Most moves are what a member would do next: join, report what it owns, change its subscription, leave. Others have an
older epoch, an id that is not theirs, fields that are missing. Offsets, transactions and administration are those of
classic walks, with member epochs. Member ids are the names of connections. With `classic`, some of the members are of
the classic protocol: then groups are converted, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import define, field

from tests.conformance.basics import subscription
from tests.conformance.choosing import Chooser
from tests.conformance.walking import OTHER, OUTSIDE, PRODUCER, SLOTS, TOPIC, WATCH, ConsumerWalker, Move, Play, Walker

NAMES: tuple[Sequence[str], ...] = (["t"], ["t"], ["t", "u"], ["u", "t"], ["u"], ["t", "none"], ["none"], [])
REGEXES = ("walk-.*", "walk-t.*", "walk-[ou].*|none", "nothing", "")
BAD_REGEXES = ("walk-(", "a{1001}")
ASSIGNORS = ("uniform", "range")
SOME_OWNED: tuple[Mapping[str, Sequence[int]], ...] = (
    {},
    {"t": [0]},
    {"t": [1]},
    {"t": [0, 1]},
    {"u": [0, 2]},
    {"t": [0], "u": [1]},
    {"t": [1], "u": [0, 1, 2]},
    {"none": [0]},
)
CLASSIC_OFFERS: tuple[Mapping[str, str], ...] = (
    {"range": subscription(TOPIC)},
    {"range": subscription(TOPIC, OTHER)},
    {"range": subscription(OTHER), "roundrobin": subscription(OTHER)},
)
OUT = -1
"""The highest epoch that a member has after it has left."""


@define
class ConsumerChooser(Chooser):
    """The moves of one walk of the consumer protocol."""

    classic: bool = False
    names: dict[str, Sequence[str]] = field(init=False)
    assignors: dict[str, str | None] = field(init=False)
    old_fashioned: frozenset[str] = field(init=False)
    """The members of the classic protocol."""

    def __attrs_post_init__(self) -> None:
        Chooser.__attrs_post_init__(self)
        dice = self.dice
        common = dice.choice(NAMES[:5])
        self.names = {name: common if dice.random() < 0.7 else dice.choice(NAMES) for name in SLOTS}
        self.assignors = {name: dice.choice(ASSIGNORS) if dice.random() < 0.2 else None for name in SLOTS}
        chance = dice.choice((0.0, 0.3, 0.6)) if self.classic else 0.0
        self.old_fashioned = frozenset(name for name in SLOTS if dice.random() < chance)
        offers = dice.choice(CLASSIC_OFFERS)
        self.offers = {name: offers if dice.random() < 0.7 else dice.choice(CLASSIC_OFFERS) for name in SLOTS}
        self.sessions = dict.fromkeys(SLOTS, 60_000)

    # --- what a member would do ----------------------------------------------------------------------------------

    def _sensible(self, play: Play) -> Move | None:
        free = self._members(play)
        if not free:
            return None
        slot, actor = self.dice.choice(free)
        if slot in self.old_fashioned:
            return self._of_classic(play, slot, actor)
        if not isinstance(actor, ConsumerWalker) or actor.epoch <= 0:
            return self._enroll(slot, actor)
        return self._in_group(slot, actor)

    def _of_classic(self, play: Play, slot: str, actor: Walker) -> Move:
        if actor.generation < 0 or self.dice.random() < 0.3:
            first = {"member": ""} if actor.member_id == actor.name else {}
            return self._join(play, slot, actor, **first)
        return self._stable(play, slot, actor)

    def _enroll(self, slot: str, actor: Walker, **others: Any) -> Move:
        dice = self.dice
        args: dict[str, Any] = {"epoch": 0, "owned": {}, **self._subscribed(slot)}
        if self.assignors[slot] is not None:
            args["assignor"] = self.assignors[slot]
        if dice.random() < 0.1 and "regex" not in args:
            args["v"] = 0
        return Move(actor.name, "beat", args | others)

    def _subscribed(self, slot: str) -> dict[str, Any]:
        said: dict[str, Any] = {"names": list(self.names[slot]), "rebalance_ms": self.rebalances[slot]}
        if self.dice.random() < 0.08:
            said |= {"names": [], "regex": self.dice.choice(REGEXES)}
        return said

    def _in_group(self, slot: str, actor: Walker) -> Move:
        dice = self.dice
        own = f"@{actor.name}"
        draw = dice.random()
        args: dict[str, Any] = {}
        if draw < 0.16:
            pass
        elif draw < 0.42:
            args["owned"] = own
        elif draw < 0.49:
            args = {"owned": own, **self._subscribed(slot)}
        elif draw < 0.55:
            args["owned"] = dice.choice(SOME_OWNED)
        elif draw < 0.63:
            self.names[slot] = dice.choice(NAMES)
            args["names"] = list(self.names[slot])
        elif draw < 0.66:
            args["regex"] = dice.choice(REGEXES)
        elif draw < 0.68:
            args["assignor"] = dice.choice(ASSIGNORS)
        elif draw < 0.70:
            args["rebalance_ms"] = dice.choice((60_000, 520, 1_120))
        elif draw < 0.80:
            static = actor.instance is not None and dice.random() < 0.7
            args["epoch"] = -2 if static or dice.random() < 0.1 else -1
        elif draw < 0.84:
            return self._enroll(slot, actor)
        elif draw < 0.91:
            return self._commit(actor, actor)
        else:
            args["epoch"] = [own, dice.choice((-1, -1, -1, 1))]
            if dice.random() < 0.6:
                args["owned"] = own
        return Move(actor.name, "beat", args)

    # --- what none should ----------------------------------------------------------------------------------------

    def _odd_member(self, play: Play) -> Move:
        dice = self.dice
        draw = dice.random()
        if draw < 0.25:
            return self._odd_classic(play)
        free = [actor for name, actor in play.actors.items() if not actor.busy and name not in (PRODUCER, WATCH)]
        actor, slot = dice.choice(free), dice.choice(SLOTS)
        member = self._anybody(play)
        like = member[1:] if member.startswith("@") else actor.name
        odd: dict[str, Any] = {"member": member, "instance": dice.choice((None, None, "i", "j", "k"))}
        if draw < 0.45:
            return self._enroll(slot, actor, **odd)
        if draw < 0.75:
            odd["epoch"] = dice.choice(([f"@{like}", 0], [f"@{like}", -1], 1, 2, 3, -1, -1, -2))
            if dice.random() < 0.5:
                odd["owned"] = dice.choice((f"@{like}", *SOME_OWNED))
            return Move(actor.name, "beat", odd)
        wrong: Mapping[str, Any] = dice.choice(
            (
                {"owned": None},
                {"names": None},
                {"names": None, "regex": dice.choice((*REGEXES, *BAD_REGEXES))},
                {"rebalance_ms": -1},
                {"rebalance_ms": 0},
                {"assignor": "nonsense"},
                {"assignor": ""},
                {"rack": ""},
                {"rack": "r"},
                {"instance": ""},
                {"member": ""},
                {"epoch": -3},
                {"owned": {"t": [0]}},
            )
        )
        return self._enroll(slot, actor, **{"v": 1, **wrong})

    def _odd_classic(self, play: Play) -> Move:
        """A classic request; a JoinGroup only where there are classic members."""
        while True:
            move = Chooser._odd_member(self, play)
            if move.what != "park_join" or self.classic:
                return move

    # --- outside clients -----------------------------------------------------------------------------------------

    def _fetch(self, play: Play) -> Move:
        move = Chooser._fetch(self, play)
        if move.args["v"] >= 9 and self.dice.random() < 0.4:
            member = self._anybody(play)
            epoch: Any = self._generation(play, play.actors[member[1:]]) if member.startswith("@") else 1
            return Move(move.who, move.what, {**move.args, "member": [member, epoch]})
        return move

    def _administration(self, play: Play) -> Move:
        if self.dice.random() < 0.3:
            groups = self.dice.choice(([""], ["", ".2"], [".2"]))
            args: dict[str, Any] = {"v": self.dice.randint(0, 1), "groups": groups}
            return Move(OUTSIDE, "look", args | {"operations": self.dice.random() < 0.3})
        return Chooser._administration(self, play)
