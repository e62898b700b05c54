"""The engine of `groupsim assign`: documents in, results and tables out, and an error for whatever is wrong."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from groupsim.cli.assign.documents import DocumentError, read_documents
from groupsim.cli.assign.results import render_table, run_document, run_file
from groupsim.cli.exits import BAD_INPUT, RUN_FAILED, Trouble

GOOD: dict[str, Any] = {
    "id": "a join",
    "assignor": "cooperative-sticky",
    "topics": {"t": {"partitions": 4}},
    "members": [{"id": "m1", "topics": ["t"], "owned": [["t", n] for n in range(4)], "generation": 1}],
    "steps": [
        {
            "change": "m2 joined",
            "topics": {"t": {"partitions": 4}},
            "members": [
                {"id": "m1", "topics": ["t"], "owned": [["t", n] for n in range(4)], "generation": 2},
                {"id": "m2", "topics": ["t"]},
            ],
        }
    ],
}


def changed(path: str, value: object) -> dict[str, Any]:
    """The good document with one value replaced, or removed when the value is None."""
    document = json.loads(json.dumps(GOOD))
    *inside, last = path.split("/")
    place = document
    for key in inside:
        place = place[int(key)] if isinstance(place, list) else place[key]
    if value is None:
        del place[last]
    else:
        place[last] = value
    return document


def written(tmp_path: Path, text: str) -> str:
    """A file with this text."""
    path = tmp_path / "group.json"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_the_result_mirrors_the_document() -> None:
    """First round on top, later ones under `steps`, each with counts, moves and what changes hands."""
    result = run_document(GOOD)
    assert result["assignment"] == {"m1": [["t", 0], ["t", 1], ["t", 2], ["t", 3]]}
    (step,) = result["steps"]
    assert step == {
        "change": "m2 joined",
        "assignment": {"m1": [["t", 0], ["t", 1]], "m2": []},
        "counts": {"m1": 2, "m2": 0},
        "moves": 0,
        "kept": 2,
        "before": {"m1": [["t", 0], ["t", 1], ["t", 2], ["t", 3]], "m2": []},
        "transferring": [["t", 2, "m2"], ["t", 3, "m2"]],
    }
    json.dumps(result)


def test_the_assignor_asked_for_wins_over_the_documents() -> None:
    """`--assignor` overrides the key; moves count what another member claims."""
    result = run_document(GOOD, "roundrobin")
    assert result["assignor"] == "roundrobin"
    assert (result["steps"][0]["moves"], result["steps"][0]["kept"]) == (2, 2)


def test_without_claims_the_round_before_counts() -> None:
    """Moves of an eager assignor are seen, too: from those who are still there, not from one that left."""
    ids = ("c1", "c2", "c3"), ("c1", "c3", "c4")
    first, second = ([{"id": name, "topics": ["t"]} for name in names] for names in ids)
    topics = {"t": {"partitions": 6}}
    document = {"topics": topics, "members": first, "steps": [{"topics": topics, "members": second}]}
    result = run_document(document, "range")
    assert result["assignment"] == {"c1": [["t", 0], ["t", 1]], "c2": [["t", 2], ["t", 3]], "c3": [["t", 4], ["t", 5]]}
    (step,) = result["steps"]
    assert step["assignment"] == {"c1": [["t", 0], ["t", 1]], "c3": [["t", 2], ["t", 3]], "c4": [["t", 4], ["t", 5]]}
    assert (step["kept"], step["moves"], result["kept"], result["moves"]) == (2, 2, 0, 0)


def test_a_round_on_which_kafka_throws_is_a_result() -> None:
    """The Java exception stands in place of the assignment, and the next round goes on."""
    members = [{"id": one, "topics": ["t"], "owned": [["t", 9]], "generation": 1} for one in ("a", "b")]
    members[1]["owned"] = [["t", 8]]
    document = {"topics": {"t": {"partitions": 2}}, "members": members, "steps": [{**GOOD, "steps": []}]}
    result = run_document(document, "sticky")
    assert result["error"].startswith("java.lang.IllegalStateException")
    assert result["steps"][0]["counts"] == {"m1": 4}


@pytest.mark.parametrize("join", ["\n", " ", "\n\n"])
def test_json_lines_and_lists_are_read(tmp_path: Path, join: str) -> None:
    """Documents stand one after the other or in a list; each knows its line."""
    one = json.dumps(GOOD)
    assert len(read_documents(written(tmp_path, join.join([one, one])))) == 2
    assert len(read_documents(written(tmp_path, f"[{one},{one},{one}]"))) == 3
    places = [document.place.rsplit(":", 1)[1] for document in read_documents(written(tmp_path, f"\n{one}\n{one}"))]
    assert places == ["2", "3"]


def test_standard_input_is_a_dash(monkeypatch: pytest.MonkeyPatch) -> None:
    """`-` reads standard input."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(GOOD).encode())))
    assert run_file("-")[0]["id"] == "a join"


UNREADABLE = [
    (b"", ": no document"),
    (b"  \n ", ": no document"),
    (b"{", r"group.json:1:2: not JSON"),
    (b'{"topics": {}}\n{"topics": }', r"group.json:1: the key 'members' is missing|group.json:2:12: no JSON"),
    (b"\xff\xfe", "byte 0 is not UTF-8"),
    (b"[" * 100_000, "unusable JSON|not JSON"),
    (b"3", r"group.json:1: found 3"),
]


@pytest.mark.parametrize(("data", "text"), UNREADABLE)
def test_an_unreadable_file_is_an_error_with_its_place(tmp_path: Path, data: bytes, text: str) -> None:
    """Empty, cut off, not JSON, not text, nested without end: a sentence with file and line, exit code 2."""
    path = tmp_path / "group.json"
    path.write_bytes(data)
    with pytest.raises(DocumentError, match=text) as failure:
        read_documents(str(path))
    assert failure.value.code == BAD_INPUT
    assert failure.value.remedy


def test_a_missing_file_and_a_folder_are_errors(tmp_path: Path) -> None:
    """What cannot be opened is named."""
    for path in (tmp_path / "none.json", tmp_path):
        with pytest.raises(DocumentError, match=str(path)):
            read_documents(str(path))


WRONG: list[tuple[str, object, str]] = [
    ("topics", None, "the key 'topics' is missing"),
    ("members", None, "the key 'members' is missing"),
    ("members", {}, r"members: found \{\}"),
    ("topics", [], r"topics: found \[\]"),
    ("steps", 3, "steps: found 3"),
    ("topics/t", 4, "topics.t: found 4"),
    ("topics/t/partitions", "4", 'topics.t.partitions: found "4"'),
    ("topics/t/partitions", -1, "topics.t.partitions: found -1"),
    ("topics/t/partitions", True, "topics.t.partitions: found true"),
    ("topics/t/partitions", 10**12, "topics.t.partitions: found 1000000000000"),
    ("topics/t/racks", [["a"]] * 5, "topics.t.racks: 5 entries"),
    ("topics/t/racks", ["a"], r'topics.t.racks\[0\]: found "a"'),
    ("topics/t", {"partitons": 3}, "topics.t.partitons: no such key"),
    ("members/0/id", None, r"members\[0\]: the key 'id' is missing"),
    ("members/0/id", 7, r"members\[0\].id: found 7"),
    ("members/0/topics", "t", r'members\[0\].topics: found "t"'),
    ("members/0/topics", [1], r"members\[0\].topics\[0\]: found 1"),
    ("members/0/owned", [["t"]], r'members\[0\].owned\[0\]: found \["t"\]'),
    ("members/0/owned", [["t", 1.5]], r"members\[0\].owned\[0\].\[1\]: found 1.5"),
    ("members/0/generation", "1", r'members\[0\].generation: found "1"'),
    ("members/0/rack", 1, r"members\[0\].rack: found 1"),
    ("members/0/instanceid", "x", r"members\[0\].instanceid: no such key"),
    ("steps/0/members/1/id", "m1", r"steps\[0\].members\[1\].id: a second member 'm1'"),
    ("assignor", 5, "assignor: found 5"),
]


@pytest.mark.parametrize(("path", "value", "text"), WRONG, ids=[f"{path}={value!r}"[:40] for path, value, _ in WRONG])
def test_a_wrong_value_is_named_with_its_path(path: str, value: object, text: str) -> None:
    """A missing or misspelt key, a wrong type, an impossible value: where it is, what stood there, what belongs."""
    with pytest.raises(DocumentError, match=text) as failure:
        run_document(changed(path, value))
    assert failure.value.remedy


def test_no_assignor_and_an_unknown_one_are_bad_input() -> None:
    """Neither the document nor the caller names one, or the name is not known: exit code 2, with the remedy."""
    with pytest.raises(Trouble, match="no assignor is given"):
        run_document(changed("assignor", None))
    with pytest.raises(Trouble, match="did you mean 'sticky'") as failure:
        run_document(GOOD, "stickky")
    assert failure.value.code == BAD_INPUT


def test_a_custom_assignor_that_fails_is_a_failed_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit code 3, naming document, round, the user's file and line."""
    lines = "from groupsim.assignors import Assignor\nclass Bad(Assignor):\n    name = 'bad'\n"
    (tmp_path / "my_bad_assignor.py").write_text(
        lines + "    def assign(self, topics, members):\n        return 1 / 0\n"
    )
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Trouble, match=r"round 1: .*my_bad_assignor.py:5.*ZeroDivisionError") as failure:
        run_document(GOOD, "my_bad_assignor:Bad")
    assert failure.value.code == RUN_FAILED


def test_the_table_shows_counts_ranges_and_moves() -> None:
    """A table for each round, with neighbours drawn together and what changed hands below."""
    console = Console(width=100, file=io.StringIO(), color_system=None)
    console.print(render_table(run_document(GOOD)))
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "t 0-3" in text
    assert "then m2 joined" in text
    assert "2 partitions, 0 to 2 each, 2 kept, 0 moved, 2 changing hands" in text


def test_markup_in_names_is_shown_as_it_is() -> None:
    """A topic called like a style tag does not disappear from the table."""
    document = {"topics": {"[red]": {"partitions": 1}}, "members": [{"id": "[/b]", "topics": ["[red]"]}]}
    console = Console(width=100, file=io.StringIO(), color_system=None)
    console.print(render_table(run_document(document, "range")))
    assert "[red] 0" in console.file.getvalue()  # type: ignore[attr-defined]
