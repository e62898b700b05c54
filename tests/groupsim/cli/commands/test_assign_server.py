"""`groupsim assign` with the assignors of the coordinator."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from groupsim.cli.assign.documents import DocumentError
from groupsim.cli.assign.on_server import made_id
from groupsim.cli.assign.results import run_document

FILE = Path(__file__).parents[3] / "data" / "vectors" / "server_assignors.jsonl"
# The vectors of `uniform` are of brokers before 4.0.1, except where both releases give the same.
RANGES = [one for one in map(json.loads, FILE.read_text("utf-8").splitlines()) if one["assignor"] == "server-range"]
DOCUMENT: Mapping[str, Any] = {
    "assignor": "uniform",
    "topics": {"a": {"partitions": 4}, "b": {"partitions": 2}},
    "members": [{"id": "c1", "topics": ["a", "b"]}, {"id": "c2", "topics": ["a", "b"]}],
}


@pytest.mark.parametrize("vector", RANGES, ids=[vector["id"] for vector in RANGES])
def test_a_recorded_case_is_a_document(vector: Mapping[str, Any]) -> None:
    """The vectors of Kafka's `range` come out as recorded, member by member."""
    result = run_document(vector)
    assert result["assignor"] == "server-range"
    exact = vector["expect"]["exact"]
    assert result["assignment"] == {one["id"]: sorted(exact.get(one["id"], [])) for one in vector["members"]}


def test_a_later_round_keeps_the_targets_of_the_round_before() -> None:
    """The target is the memory of `uniform`: a member that joins takes one third, and nothing else moves."""
    joined = {"topics": DOCUMENT["topics"], "members": [*DOCUMENT["members"], {"id": "c3", "topics": ["a", "b"]}]}
    result = run_document({**DOCUMENT, "steps": [joined]})
    (step,) = result["steps"]
    assert (step["kept"], step["moves"]) == (4, 2)
    assert step["counts"] == {"c1": 2, "c2": 2, "c3": 2}


def test_a_topic_that_the_broker_does_not_know_is_left_out() -> None:
    """A name without partitions and without an id is no topic; one with an id is an error of Kafka's class."""
    members = [{"id": "c1", "topics": ["a", "later"]}]
    assert run_document({**DOCUMENT, "members": members})["counts"] == {"c1": 4}
    result = run_document({**DOCUMENT, "members": members, "topic_ids": {"later": made_id("later")}})
    assert result["error"].startswith("PartitionAssignorException: ")


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("topic_ids", {"a": "short"}, 'topic_ids.a: found "short"'),
        ("topic_ids", ["a"], "topic_ids: found"),
        ("subscription_type", "mixed", 'subscription_type: found "mixed"'),
    ],
)
def test_a_bad_key_is_an_error_with_its_place(key: str, value: object, message: str) -> None:
    """The error names the path in the document."""
    with pytest.raises(DocumentError, match=message):
        run_document({**DOCUMENT, key: value})
