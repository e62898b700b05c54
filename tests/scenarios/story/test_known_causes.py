"""Stories whose cause is a step of the scenario: headline, cause and culprit are known in advance."""

from __future__ import annotations

import pytest

from groupsim.scenarios.language.registry import ACTIONS, FAULTS
from groupsim.scenarios.runtime.runner import run_scenario
from groupsim.scenarios.story import tell
from tests.helpers.known_causes import Row
from tests.helpers.known_cluster_causes import ROWS as CLUSTER_ROWS
from tests.helpers.known_member_causes import ROWS as MEMBER_ROWS

ROWS = (*MEMBER_ROWS, *CLUSTER_ROWS)
ELSEWHERE = {
    "freeze-zookeeper": "tests/scenarios/test_ancestors.py",
    "alter-group-config": "scenarios/library/consumer-group-config-altered.yaml",
}
"""Steps that no row covers, and the tests of their headlines."""
STORIES = [(row, library) for row in ROWS for library in row.of]


@pytest.mark.parametrize(("row", "library"), STORIES, ids=[f"{row.name}, {library}" for row, library in STORIES])
def test_a_story_names_the_cause_that_its_scenario_made(row: Row, library: str) -> None:
    """The first rebalance has the step behind it as its cause, and the headline names it."""
    story = tell(run_scenario(row.played_by(library).build()).events)
    group = story.groups[0]
    rounds = group.forming[1:] if row.forms else group.rebalances
    if row.cause is None:
        assert not rounds, story.headline
    else:
        assert rounds, story.headline
        assert rounds[0].cause is row.cause, (story.headline, rounds[0].why)
        assert row.culprit in ("", rounds[0].culprit.host if rounds[0].culprit else None)
    if row.last is not None:
        cause, words = row.last
        assert rounds[-1].cause is cause, story.headline
        assert words in rounds[-1].why
    assert [words for words in row.says if words not in story.headline] == [], story.headline
    assert [words for words in row.never if words in story.headline] == [], story.headline


def test_every_action_and_fault_has_a_story() -> None:
    """Every step has a row with the words that its story must have."""
    done = {str(step["do"]) for row in ROWS for step in row.steps}
    assert done | set(ELSEWHERE) >= {*ACTIONS, *FAULTS}
    assert not done & set(ELSEWHERE)


def test_there_are_about_a_hundred_stories() -> None:
    """The rows cover four client libraries."""
    assert len(STORIES) >= 100
    assert len({library for _, library in STORIES}) == 4
