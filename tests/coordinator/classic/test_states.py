"""The states of a classic group and the table of ways between them."""

from __future__ import annotations

import pytest

from groupsim.coordinator.base.failures import IllegalState
from groupsim.coordinator.classic.entry_points import ClassicGroup
from groupsim.coordinator.classic.states import (
    PRINTED,
    TRANSITIONS,
    Reason,
    State,
    TransitionCause,
    can_rebalance,
    next_state,
)

LEGAL = {(old, cause, new) for old, ways in TRANSITIONS.items() for cause, new in ways.items()}


def test_every_pair_of_states_is_legal_exactly_as_in_kafka() -> None:
    """The pairs of the table are those of `ClassicGroupState`: previous states per target."""
    pairs = {(old.printed, new.printed) for old, _, new in LEGAL}
    assert pairs == {
        ("Empty", "PreparingRebalance"),
        ("Stable", "PreparingRebalance"),
        ("CompletingRebalance", "PreparingRebalance"),
        ("PreparingRebalance", "CompletingRebalance"),
        ("CompletingRebalance", "Stable"),
        ("PreparingRebalance", "Empty"),
        *((name, "Dead") for name in PRINTED.values()),
    }


@pytest.mark.parametrize("state", list(State))
@pytest.mark.parametrize("cause", list(TransitionCause))
def test_a_way_that_is_not_in_the_table_is_an_error_that_names_the_ones_that_are(
    state: State, cause: TransitionCause
) -> None:
    """`next_state` follows the table and raises IllegalState for everything else."""
    if cause in TRANSITIONS[state]:
        assert next_state(state, cause) is TRANSITIONS[state][cause]
    else:
        with pytest.raises(IllegalState, match=state.printed):
            next_state(state, cause)


def test_rounds_open_from_empty_stable_and_completing_only() -> None:
    """`canRebalance` holds in Empty, Stable and CompletingRebalance."""
    assert [state.printed for state in State if can_rebalance(state)] == ["Empty", "CompletingRebalance", "Stable"]


def test_a_transition_remembers_where_it_came_from_and_when() -> None:
    """The previous state and the time of the change, in whole ms, are kept; a fresh group came from Dead."""
    group = ClassicGroup("g")
    assert group.previous_state is State.DEAD
    group.transition(Reason(TransitionCause.ADD_MEMBER, "why"), 17_999)
    assert (group.previous_state, group.state, group.state_us) == (State.EMPTY, State.PREPARING_REBALANCE, 17_000)
