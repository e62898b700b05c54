"""YAML with positions: errors before the meaning is read."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest

from groupsim.scenarios.language.document import parse_document, read_document
from groupsim.scenarios.language.problems import ScenarioError


def _wrong(text: str) -> str:
    with pytest.raises(ScenarioError) as caught:
        parse_document(text, "f.yaml")
    return str(caught.value)


def test_values_and_keys_have_places() -> None:
    """Every key and every value knows its line and column."""
    document = parse_document("a: 1\nb:\n  - {c: x}\n")
    assert (document.at_value(("b", 0, "c")).line, document.at_value(("b", 0, "c")).column) == (3, 9)
    assert (document.at_key(("b",)).line, document.at_key(("b",)).column) == (2, 1)


def test_a_value_without_a_place_is_where_its_parent_is() -> None:
    """A key that is not in the file is reported at the mapping that lacks it."""
    document = parse_document("a:\n  b: 1\n")
    assert document.at_value(("a", "missing", 0)).line == 2


def test_scalars_follow_yaml_1_2() -> None:
    """`on` and `no` are text, numbers are numbers, and a number keeps its text."""
    data = parse_document("{a: on, b: no, c: 10, d: 3.10, e: true, f: ~, g: 0x1f}").data
    assert {key: data[key] for key in "abcefg"} == {"a": "on", "b": "no", "c": 10, "e": True, "f": None, "g": 31}
    assert data["d"].text == "3.10"
    assert copy.deepcopy(data["d"]).text == "3.10"


def test_nothing_stands_where_its_key_does() -> None:
    """A key without a value is reported in its own line, not in the next."""
    assert parse_document("a:\nb: 1\n").at_value(("a",)).line == 1


def test_merge_keys_bring_in_what_is_not_there() -> None:
    """`<<` merges another mapping into this one."""
    assert parse_document("a: &x {p: 1, q: 2}\nb: {<<: *x, q: 3}").data["b"] == {"p": 1, "q": 3}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "the file is empty"),
        ("# nothing\n", "the file is empty"),
        ("a: 1\na: 2\n", "f.yaml:2:1: error: the key `a` appears twice"),
        ("? [x]\n: 3\n", "a key must be text"),
        ("a: [1", "this is not YAML"),
        ("\ta: 1", "cannot start any token"),
        ("a: &a [*a]", "contains itself"),
        ("--- \na: 1\n--- \nb: 2\n", "a second document"),
        ("a: !!int foo", "`foo` is not a valid int"),
        ("\x00abc", "this is not YAML"),
        ("a: !!python/object/apply:os.system [ls]", "f.yaml:1:4: error: the tag `!!python/object/apply:os.system`"),
        ("a: !secret x", "the tag `!secret` is not supported"),
        ("<<: 3\n", "`<<` can merge only a mapping"),
    ],
)
def test_what_is_no_document_is_said_with_its_place(text: str, words: str) -> None:
    """Broken YAML is an error with file and line, never a traceback."""
    assert words in _wrong(text)


def test_aliases_cannot_unfold_without_measure() -> None:
    """A few lines of nested aliases do not fill the memory."""
    lines = ["a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 8)]
    assert "unfolds to more than" in _wrong("\n".join(lines))


def test_files_that_cannot_be_read_name_the_remedy(tmp_path: Path) -> None:
    """A missing file, a directory and a binary file are three clear errors."""
    binary = tmp_path / "x.yaml"
    binary.write_bytes(b"\xff\xfe\x00\x01")
    for path, words in (
        (tmp_path / "none.yaml", "no such file"),
        (tmp_path, "is a directory"),
        (binary, "is not text (byte 0 is not UTF-8)"),
    ):
        with pytest.raises(ScenarioError, match=words.replace("(", r"\(").replace(")", r"\)")):
            read_document(path)


@pytest.mark.parametrize("content", [b"PAR1\x15\x04\xff", b'{"seq":1,"t_us":0,"kind":"run.started"}\n{"seq":2}\n'])
def test_a_trace_is_no_scenario_and_is_told_as_what_it_is(tmp_path: Path, content: bytes) -> None:
    """Traces of either format lie beside their scenarios: the error does not mention indentation or UTF-8."""
    path = tmp_path / "out.parquet"
    path.write_bytes(content)
    with pytest.raises(
        ScenarioError, match=r"out.parquet: error: is the trace of a run.*\n    name the run's scenario"
    ):
        read_document(path)


def test_a_byte_order_mark_is_no_mistake(tmp_path: Path) -> None:
    """Editors on Windows write a byte order mark."""
    path = tmp_path / "x.yaml"
    path.write_bytes(b"\xef\xbb\xbfa: 1\n")
    assert read_document(path).data == {"a": 1}


def test_a_file_that_is_nearly_there_is_proposed(tmp_path: Path) -> None:
    """A misspelt file name gets a similar file as remedy, another name does not."""
    (tmp_path / "rollout.yaml").write_text("run-for: 1s\n", "utf-8")
    with pytest.raises(ScenarioError, match=r"did you mean `.*/rollout\.yaml`"):
        read_document(tmp_path / "rolout.yaml")
    with pytest.raises(ScenarioError, match="check the path and its permissions"):
        read_document(tmp_path / "zzz.yaml")
    with pytest.raises(ScenarioError, match="check the path and its permissions"):
        read_document(tmp_path / "nowhere" / "rollout.yaml")


@pytest.mark.parametrize(
    ("text", "place", "remedy"),
    [
        ("topics: {t: 3}\ngroups:\n\tg: {}\n", "a.yaml:3:1", "indent with spaces"),
        ("run-for: 2m\ngroups\ntopics: {t: 3}\n", "a.yaml:2:1", "write `key: value`"),
    ],
)
def test_a_slip_of_the_hand_is_told_where_it_is(text: str, place: str, remedy: str) -> None:
    """A tab, and a line without a colon, which the parser's own message would not explain."""
    with pytest.raises(ScenarioError) as raised:
        parse_document(text, "a.yaml")
    (problem,) = raised.value.problems
    assert (str(problem.place), remedy in problem.remedy) == (place, True)


def test_an_ending_in_common_makes_no_likeness(tmp_path: Path) -> None:
    """Every scenario ends in .yaml: the ending alone makes no name similar."""
    (tmp_path / "anchor.yaml").touch()
    with pytest.raises(ScenarioError, match="check the path"):
        read_document(tmp_path / "nosuch.yaml")


def test_what_powershell_writes_is_recognised(tmp_path: Path) -> None:
    """PowerShell's `>` writes UTF-16."""
    path = tmp_path / "a.yaml"
    path.write_text("run-for: 2m\n", "utf-16")
    with pytest.raises(ScenarioError, match="it looks like UTF-16"):
        read_document(path)
