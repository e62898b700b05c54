"""The recorded transcripts of the real broker against the simulated one, in virtual time and without Java."""

from __future__ import annotations

import pytest

from groupsim.eventloop.virtual import VirtualLoop, run_virtual
from tests.conformance.core import CorePeer, play_on_core
from tests.conformance.data import load
from tests.conformance.player import Played, play, settings_for
from tests.conformance.scripts import all_cases
from tests.conformance.transcript import Transcript, differences

CASES = all_cases()
COMPARED = [name for name, case in CASES.items() if not case.only_real]


@pytest.mark.parametrize("name", COMPARED)
def test_the_core_answers_as_kafka_does(name: str) -> None:
    """Every recorded script gets the same answers from the core as from the real broker, and keeps its times."""
    case = CASES[name]
    recorded = load(case.table).get(name)
    assert recorded is not None, "not recorded yet: python -m tests.conformance.record " + name
    played = play_on_core(case, recorded)
    assert played.failure is None
    assert differences(recorded, played.transcript, members_in_order=case.members_in_order) == []


def test_the_recorded_ids_decide_who_succeeds_a_leader() -> None:
    """Without the broker's own member ids the core puts members in another order: the ids are what makes it equal."""
    case = CASES["four-members-and-their-leader-v9"]
    recorded = load(case.table)[case.id]
    without = play_on_core(case, None)
    assert without.failure is None
    assert differences(recorded, without.transcript) == []
    assert differences(recorded, without.transcript, members_in_order=True) != []


def test_another_try_under_other_names_says_the_same() -> None:
    """What tells two tries apart is left out, in a subscription too, where a name has its length before it."""
    case = CASES["what-a-round-subscribes"]

    async def again(loop: VirtualLoop) -> Played:
        peer = CorePeer(loop, load(case.table)[case.id], settings_for(case.nodes, case.kind))
        return await play(case, peer, "-try2-17")

    tried = run_virtual(again)
    assert tried.failure is None
    assert differences(load(case.table)[case.id], tried.transcript) == []


def test_a_changed_answer_is_noticed() -> None:
    """A transcript with one other error code, one missing answer, or one more connection is not the same."""
    recorded = load("heartbeat")["heartbeat-in-preparing-v4"]
    for change in ("code", "fewer", "line"):
        lines = {line: [list(said) for said in answers] for line, answers in recorded.lines.items()}
        if change == "code":
            lines["a"][-1][1] = {**lines["a"][-1][1], "error_code": "UNKNOWN_MEMBER_ID"}
        elif change == "fewer":
            lines["a"].pop()
        else:
            lines["z"] = [["Heartbeat 4", {"error_code": "NONE"}]]
        assert differences(recorded, Transcript(lines, recorded.ids))
