"""The table of a member's states under the consumer group protocol."""

from __future__ import annotations

import pytest

from groupsim.members.consumer_protocol.states import (
    AT_ONCE,
    ON_THE_WAY_OUT,
    OUTSIDE,
    PREDECESSORS,
    TAKES_ASSIGNMENT,
    MemberState,
    may_follow,
)

# State → the states from which it may be entered, as read in `MemberState` of Kafka 4.4.0.
KAFKA = {
    "UNSUBSCRIBED": "PREPARE_LEAVING LEAVING FENCED",
    "JOINING": "FENCED UNSUBSCRIBED STALE",
    "RECONCILING": "STABLE JOINING ACKNOWLEDGING RECONCILING",
    "ACKNOWLEDGING": "RECONCILING",
    "STABLE": "JOINING ACKNOWLEDGING RECONCILING",
    "FENCED": "JOINING STABLE RECONCILING ACKNOWLEDGING PREPARE_LEAVING LEAVING",
    "PREPARE_LEAVING": "JOINING STABLE RECONCILING ACKNOWLEDGING UNSUBSCRIBED",
    "LEAVING": "PREPARE_LEAVING",
    "STALE": "LEAVING",
    "FATAL": "JOINING STABLE RECONCILING ACKNOWLEDGING PREPARE_LEAVING LEAVING UNSUBSCRIBED",
}


@pytest.mark.parametrize("state", KAFKA)
def test_a_state_is_entered_from_those_of_kafkas_table(state: str):
    """Each state may follow itself and the states that Kafka lists, and no other."""
    allowed = {state, *KAFKA[state].split()}
    assert {one.value for one in MemberState if may_follow(one, MemberState(state))} == allowed


def test_every_state_but_the_last_has_a_way_on():
    """FATAL is the only state that no state may follow, and every state has a meaning in words."""
    left = {before for many in PREDECESSORS.values() for before in many}
    assert set(MemberState) - left == {MemberState.FATAL}
    assert all(one.meaning for one in MemberState)


def test_the_sets_of_states_are_those_of_the_java_client():
    """Four states are outside the group, three send at once, two are on the way out, four take an assignment."""
    assert sorted(OUTSIDE) == ["FATAL", "FENCED", "STALE", "UNSUBSCRIBED"]
    assert sorted(AT_ONCE) == ["ACKNOWLEDGING", "JOINING", "LEAVING"]
    assert sorted(ON_THE_WAY_OUT) == ["LEAVING", "PREPARE_LEAVING"]
    assert sorted(TAKES_ASSIGNMENT) == ["ACKNOWLEDGING", "JOINING", "RECONCILING", "STABLE"]
