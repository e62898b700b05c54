"""The essay at the top of `coordinator/classic/states.py` has a table of JoinGroups: each of its rows is played."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from groupsim.coordinator.base.purgatory import JOIN_CONDITION
from groupsim.coordinator.base.records import GroupRecord
from groupsim.coordinator.classic import states
from groupsim.coordinator.testing import RANGE, Bench, Sent
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import JoinProtocol

OTHER = (JoinProtocol("range", b"other metadata"),)
ANY = ("Empty", "PreparingRebalance", "CompletingRebalance", "Stable")


def table() -> list[tuple[str, str, str, str]]:
    """The rows: state, sender, answer, effect. Columns stand where the header has them."""
    lines = (states.__doc__ or "").splitlines()
    begin = next(number for number, line in enumerate(lines) if line.split()[:2] == ["state", "sender"])
    edges = [found.start() for found in re.finditer(r"(?<!\S)(state|sender|answer|effect)", lines[begin])]
    rows = []
    for line in lines[begin + 1 :]:
        if not line:
            break
        state, sender, answer, effect = (
            line[at:end].strip() for at, end in zip(edges, [*edges[1:], None], strict=True)
        )
        rows.append((state, sender, answer, effect))
    return rows


class Scene:
    """A group of a leader `a`, a follower `b` and a static member `i`, brought into a state; then a client joins."""

    def __init__(self, state: str) -> None:
        self.bench = bench = Bench()
        self.members = [bench.join("a"), bench.join("b"), bench.join(instance="i")]
        bench.finish_round()
        if state != "CompletingRebalance":
            bench.assign()
        if state == "Empty":
            bench.leave(*(one.joined.member_id for one in self.members))
            bench.advance_ms(1)
        if state == "PreparingRebalance":
            bench.join("c")
        self.before, self.changes = bench.snapshot(), len(bench.states())
        assert self.before.state == state

    def member(self, name: str, protocols: tuple[JoinProtocol, ...] = RANGE) -> Sent:
        return self.bench.rejoin(self.members["ab".index(name)], protocols=protocols)

    def newcomer(self) -> Sent:
        given = self.bench.join("x", version=5).joined.member_id
        return self.bench.join("x", member_id=given, version=5)

    @property
    def static_id(self) -> str:
        return next(member.member_id for member in self.bench.snapshot().members if member.instance_id == "i")

    @property
    def opens_a_round(self) -> bool:
        return self.bench.state == "PreparingRebalance" and len(self.bench.states()) == self.changes + 1

    @property
    def is_as_before(self) -> bool:
        now = self.bench.snapshot()
        return (now.state, now.generation, len(self.bench.states())) == (
            self.before.state,
            self.before.generation,
            self.changes,
        )


SENDERS: dict[str, list[Callable[[Scene], Sent]]] = {
    "unknown, without a member id": [lambda scene: scene.bench.join("x", version=5)],
    "new: with that id, or static": [Scene.newcomer, lambda scene: scene.bench.join(instance="new")],
    "a member": [lambda scene: scene.member("a"), lambda scene: scene.member("b", OTHER)],
    "a member, unchanged": [lambda scene: scene.member("a"), lambda scene: scene.member("b")],
    "a member, with other metadata": [lambda scene: scene.member("a", OTHER), lambda scene: scene.member("b", OTHER)],
    "a static member without its id": [lambda scene: scene.bench.join(instance="i")],
    "the leader, changed or not": [lambda scene: scene.member("a", OTHER), lambda scene: scene.member("a")],
    "a follower, unchanged": [lambda scene: scene.member("b")],
    "a follower, with other metadata": [lambda scene: scene.member("b", OTHER)],
}


def _is_parked(scene: Scene, sent: Sent) -> bool:
    return sent.parked == JOIN_CONDITION and not sent.answered


def _is_answered_when_the_round_closes(scene: Scene, sent: Sent) -> bool:
    parked = _is_parked(scene, sent)
    scene.bench.finish_round()
    return parked and sent.error is ErrorCode.NONE and sent.joined.generation_id == scene.before.generation + 1


def _has_this_generation(scene: Scene, sent: Sent) -> bool:
    return sent.error is ErrorCode.NONE and sent.joined.generation_id == scene.before.generation


def _is_given_an_id(scene: Scene, sent: Sent) -> bool:
    return sent.error is ErrorCode.MEMBER_ID_REQUIRED and sent.joined.member_id != ""


def _has_its_new_id_logged(scene: Scene, sent: Sent) -> bool:
    last = scene.bench.log[-1]
    assert isinstance(last, GroupRecord)
    assert last.value is not None
    logged = [member.member_id for member in last.value.members]
    return _has_this_generation(scene, sent) and sent.joined.member_id in logged and _is_another(scene)


def _is_another(scene: Scene) -> bool:
    return scene.static_id != scene.members[2].joined.member_id


EFFECTS: dict[str, Callable[[Scene, Sent], bool]] = {
    "rounds wait for it": lambda scene, sent: sent.joined.member_id in scene.bench.snapshot().pending_join,
    "opens one if none is": lambda scene, _: scene.opens_a_round or scene.before.state == "PreparingRebalance",
    "counted as joined": lambda scene, sent: scene.bench.snapshot().member(sent.request.member_id).awaiting_join,  # type: ignore[union-attr]
    "none": lambda scene, _: scene.is_as_before,
    "none, if unchanged": lambda scene, _: scene.is_as_before,
    "a new round": lambda scene, _: scene.opens_a_round,
}
ANSWERS: dict[str, Callable[[Scene, Sent], bool]] = {
    "at once: MEMBER_ID_REQUIRED, an id": _is_given_an_id,
    "parked until the round closes": _is_answered_when_the_round_closes,
    "parked": _is_parked,
    "parked, under a new id": lambda scene, sent: _is_parked(scene, sent) and _is_another(scene),
    "at once: this generation again": _has_this_generation,
    "this generation, its new id logged": _has_its_new_id_logged,
}


@pytest.mark.parametrize(("state", "sender", "answer", "effect"), table())
def test_each_row_of_the_table_is_what_becomes_of_that_join(state: str, sender: str, answer: str, effect: str) -> None:
    """In the state of the row its sender joins, in every way: the answer is the row's, and so is the effect."""
    for played in ANY if state == "any" else (state,):
        for join in SENDERS[sender]:
            scene = Scene(played)
            sent = join(scene)
            assert EFFECTS[effect](scene, sent), (played, scene.bench.states())
            assert ANSWERS[answer](scene, sent), (played, sent)


def test_the_table_knows_every_state_in_which_somebody_can_join() -> None:
    """Rows for all states but Dead, in which a broker answers for no group; and each kind of sender in some row."""
    assert {state for state, *_ in table()} == {"any", "PreparingRebalance", "CompletingRebalance", "Stable"}
    assert {sender for _, sender, *_ in table()} == set(SENDERS)
