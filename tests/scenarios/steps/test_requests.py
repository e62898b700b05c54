"""Raw requests: a wrong field is an error with its place, before a run."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from groupsim.protocol.messages.group import (
    HeartbeatRequest,
    JoinGroupRequest,
    JoinProtocol,
    LeaveGroupRequest,
    LeavingMember,
    OffsetCommitRequest,
    OffsetToCommit,
    TopicPartition,
)
from groupsim.scenarios.language.document import parse_document
from groupsim.scenarios.language.problems import ScenarioError
from groupsim.scenarios.language.raw_requests import REQUESTS, make_request
from groupsim.scenarios.loading.load import scenario_of
from groupsim.scenarios.runtime.runner import run_scenario

FILE = """\
run-for: 10s
topics: {{t: 2}}
groups: {{g: {{members: {{c: 2}}}}}}
timeline:
  - {{at: 5s, do: request, api: {api}, fields: {{{fields}}}}}
"""


@pytest.mark.parametrize(
    ("api", "fields", "words", "remedy"),
    [
        ("Heartbeat", "member_id: x, generation: 1", "Heartbeat has no field `generation`", "`generation_id`?"),
        ("Heartbeat", "member_id: x", "Heartbeat needs `generation_id`", "its fields: group_id, generation_id"),
        ("Heartbeat", "generation_id: 1, member_id: 3", "`member_id`: expected a text, found `3`", "in quotes"),
        ("Heartbeat", "member_id: x, generation_id: old", "expected a whole number, found `old`", ""),
        ("Heartbeat", "member_id: x, generation_id: true", "expected a whole number, found true", ""),
        (
            "Heartbeat",
            "member_id: x, generation_id: 4294967296",
            "does not fit into its field of 4 bytes",
            "at most 2147483647",
        ),
        ("Heartbeat", "member_id: x, generation_id: 1, version: 9", "Heartbeat has no version 9", "0 to 4"),
        ("Heartbeat", "member_id: {member: d-1}, generation_id: 1", "no member has this name: `d-1`", "`c-1`?"),
        ("JoinGroup", "session_timeout_ms: 10s", "`session_timeout_ms`: expected a whole number, found `10s`", ""),
        ("JoinGroup", "session_timeout_ms: 9, protocols: range", "expected a list, found `range`", "[a, b]"),
        ("JoinGroup", "session_timeout_ms: 9, protocols: [[a]]", "expected a text, found a list", ""),
        ("OffsetCommit", "offsets: [{partition: 3, offset: 1}]", "expected a partition, found `3`", "such as orders-0"),
        ("OffsetCommit", "offsets: [{partition: t, offset: 1}]", "`t` is not a partition", "topic-number"),
        ("OffsetCommit", "offsets: [{offset: 1}]", "OffsetToCommit needs `partition`", "its fields: partition, offset"),
        ("OffsetCommit", "offsets: [{error: 1}]", "OffsetToCommit has no field `error`", "leader_epoch"),
        ("CreateTopics", "topics: [t]", "`CreateTopics` is not a request that a step can send", "known: "),
    ],
)
def test_what_a_field_cannot_hold_is_told_with_its_line(api: str, fields: str, words: str, remedy: str) -> None:
    """A wrong name, type, size or stand-in is a mistake of the file, found before anything runs."""
    with pytest.raises(ScenarioError) as caught:
        scenario_of(parse_document(FILE.format(api=api, fields=fields), "f.yaml"), "f")
    reported = [problem for problem in caught.value.problems if words in problem.message]
    assert [(problem.place.line, remedy in problem.remedy) for problem in reported] == [(5, True)]


@pytest.mark.parametrize(
    ("api", "fields", "made"),
    [
        ("Heartbeat", {"member_id": "m", "generation_id": 2}, HeartbeatRequest("g", 2, "m")),
        ("LeaveGroup", {"members": ["m"]}, LeaveGroupRequest("g", (LeavingMember("m"),))),
        (
            "JoinGroup",
            {"session_timeout_ms": 9, "protocols": ["range", {"name": "own", "metadata": "x"}]},
            JoinGroupRequest("g", 9, protocols=(JoinProtocol("range"), JoinProtocol("own", b"x"))),
        ),
        (
            "OffsetCommit",
            {"offsets": [{"partition": "a-b-1", "offset": 2**40}], "group_id": "h", "group_instance_id": None},
            OffsetCommitRequest("h", (OffsetToCommit(TopicPartition("a-b", 1), 2**40),)),
        ),
    ],
)
def test_plain_fields_become_the_message(api: str, fields: dict[str, Any], made: object) -> None:
    """Lists, texts and mappings become tuples, partitions, bytes and parts; the group is the step's by default."""
    assert make_request(api, "g", fields) == made


def test_stand_ins_are_replaced_when_the_step_runs() -> None:
    """Member id, generation, and both inside the parts of a message, as they are at that moment."""
    protocol = "protocol_type: consumer, protocol_name: range"
    fields = f"member_id: {{member: c-2}}, generation_id: previous, {protocol}, assignments: [{{member: leader}}]"
    text = FILE.format(api="SyncGroup", fields=fields)
    run = run_scenario(scenario_of(parse_document(text, "f.yaml"), "f"))
    answers = [event for event in run.events if event.host == "by-hand" and event.kind == "response.received"]
    assert [event.error for event in answers] == ["ILLEGAL_GENERATION"]


def test_every_request_that_can_be_sent_by_hand_gets_an_answer() -> None:
    """With only its required fields, each of them is answered by a broker."""
    needed = {"member_id": "m", "generation_id": 1, "session_timeout_ms": 10_000, "key": "g"}
    needed |= {"offsets": [], "partitions": []}
    text = FILE[: FILE.index("  - ")].format()
    for api, cls in REQUESTS.items():
        given = {f.name: needed[f.name] for f in attrs.fields(cls) if f.default is attrs.NOTHING and f.name in needed}
        fields = ", ".join(f"{name}: {value}" for name, value in given.items())
        text += f"  - {{at: 5s, do: request, api: {api}, fields: {{{fields}}}}}\n"
    run = run_scenario(scenario_of(parse_document(text, "f.yaml"), "f"))
    answered = [e.api for e in run.events if e.host == "by-hand" and e.kind == "response.received"]
    assert sorted(map(str, answered)) == sorted(REQUESTS)
