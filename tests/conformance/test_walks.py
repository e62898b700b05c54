"""The recorded random walks of the real broker against the core, in virtual time and without Java."""

from __future__ import annotations

import json

import pytest
from attrs import evolve

from groupsim.eventloop.virtual import VirtualLoop, run_virtual
from tests.conformance.choosing import Chooser
from tests.conformance.consumer.walks import ConsumerChooser
from tests.conformance.core import CorePeer
from tests.conformance.player import SETTINGS
from tests.conformance.transcript import Transcript
from tests.conformance.walk_core import differences_on_core, on_core
from tests.conformance.walk_data import PATH, load
from tests.conformance.walk_script import script_of
from tests.conformance.walking import CONSUMER, Walked, begin, found, settings_of, walk

WALKS = load()


@pytest.mark.parametrize("name", WALKS)
def test_the_core_answers_a_walk_as_kafka_did(name: str) -> None:
    """Every request of a recorded walk is answered as the real broker answered it, and at the same time."""
    statics, real = WALKS[name]
    assert differences_on_core(name, statics, real) == []


def test_the_walks_were_recorded_with_the_settings_of_today() -> None:
    """The data says which release answered, and with which settings."""
    recorded = json.loads(PATH.read_text("utf-8"))
    assert recorded["broker"].startswith("Apache Kafka 4.")
    assert recorded["settings"] == SETTINGS
    assert recorded[f"settings of {CONSUMER}"] == settings_of(CONSUMER)


def test_a_changed_answer_of_a_walk_is_noticed() -> None:
    """Another error code, or an answer half a second late, is a difference."""
    name, (statics, real) = next(iter(WALKS.items()))
    line, number = next((line, number) for line, number in real.order if line != "w")
    lines = {key: [list(said) for said in value] for key, value in real.transcript.lines.items()}
    lines[line][number - 1][1] = {"error_code": "CORRUPT_MESSAGE"}
    wrong = evolve(real, transcript=Transcript(lines, real.transcript.ids))
    assert f"{line}, request {number}" in found(wrong, on_core(name, statics, real))[0]
    late = evolve(real, arrivals=[None if at is None else at + 500_000 for at in real.arrivals])
    assert "answered at" in found(late, on_core(name, statics, real))[0]


def test_a_seed_is_always_the_same_walk() -> None:
    """Drawn twice on the core, a walk makes the same moves and gets the same answers."""

    async def main(loop: VirtualLoop) -> Walked:
        chooser = Chooser(11)
        return await walk(begin("walk-11", CorePeer(loop, None, SETTINGS), chooser.statics), chooser)

    one, other = run_virtual(main), run_virtual(main)
    assert len(one.moves) > 10
    assert one == other


def test_a_seed_of_the_consumer_protocol_is_always_the_same_walk() -> None:
    """Drawn twice on the core, it makes the same moves and gets the same answers, most of them to heartbeats."""

    async def main(loop: VirtualLoop) -> Walked:
        chooser = ConsumerChooser(3)
        name = f"{CONSUMER}-3"
        return await walk(begin(name, CorePeer(loop, None, settings_of(name)), chooser.statics), chooser)

    one, other = run_virtual(main), run_virtual(main)
    said = [what for lines in one.transcript.lines.values() for what, _ in lines]
    assert sum(what.startswith("ConsumerGroupHeartbeat") for what in said) > 5
    assert one == other


def test_a_walk_is_printed_as_a_script() -> None:
    """What is printed is Python, with a line for each request that the walk made."""
    for statics, real in WALKS.values():
        text = script_of(statics, real)
        compile(text, "script", "exec")
        requests = [line for line, _ in real.order if line != "w"]
        assert text.count("await ") >= len(requests)
