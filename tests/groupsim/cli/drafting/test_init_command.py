"""`groupsim init` as a user meets it: what it prints and writes, and what it says of files that it cannot read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from groupsim.cli.app import app

PROPERTIES = "group.id=billing\nmax.poll.records=5\n"
MANIFEST = """apiVersion: v1
kind: Service
metadata: {name: web}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: orders}
spec:
  replicas: REPLICAS
  template: {spec: {containers: [{name: app, env: [{name: KAFKA_GROUP_ID, value: g}]}]}}
"""


def init(*arguments: str | Path, stdin: str | None = None) -> Result:
    """`groupsim init` with these arguments."""
    return CliRunner().invoke(app, ["init", *map(str, arguments)], input=stdin)


def test_a_draft_goes_to_standard_output_and_is_valid(tmp_path: Path) -> None:
    """What is printed validates as it is; questions are counted on standard error."""
    result = init("-", stdin=PROPERTIES)
    assert result.exit_code == 0, result.stderr
    assert "max.poll.records: 5  # <stdin>:2 max.poll.records" in result.stdout
    assert "questions to answer" in result.stderr
    written = tmp_path / "s.groupsim.yaml"
    written.write_text(result.stdout, "utf-8")
    assert CliRunner().invoke(app, ["validate", str(written)]).exit_code == 0


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("kind: Deployment\nmetadata: {name: a\n", "<stdin>:3:1"),
        ("# rendered\n---\nkind: [a\n", "<stdin>:4:1"),
        ("- a\n- [b\n", "<stdin>:3:1"),
        ("metadata:\n  name: 'a\n", "<stdin>:3:1"),
        ("group.id: g\nclient.id: [\n", "<stdin>:3:1"),
    ],
)
def test_broken_yaml_on_standard_input_is_an_error_of_yaml(text: str, place: str) -> None:
    """The error has line and column, and does not call the text properties."""
    result = init("-", stdin=text)
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"{place}: error: this is not YAML" in result.stderr
    assert "properties" not in result.stderr


@pytest.mark.parametrize(
    "text", [MANIFEST.partition("---\n")[2], "group.id: g\nmax.poll.records: 5\n", '{"group.id": "g"}\n']
)
def test_yaml_on_standard_input_needs_no_file_name(text: str) -> None:
    """The first line tells YAML, JSON and settings with colons from `key=value`."""
    result = init("-", stdin=text.replace("REPLICAS", "2"))
    assert result.exit_code == 0, result.stderr
    assert "g:" in result.stdout


def test_out_writes_a_file_once(tmp_path: Path) -> None:
    """`--out` makes the file and refuses one that is there, unless `--force` is given."""
    source, out = tmp_path / "consumer.properties", tmp_path / "s.groupsim.yaml"
    source.write_text(PROPERTIES, "utf-8")
    assert init(source, "--out", out).exit_code == 0
    first = out.read_text("utf-8")
    again = init(source, "--out", out)
    assert (again.exit_code, out.read_text("utf-8")) == (2, first)
    assert "s.groupsim.yaml exists" in again.stderr
    assert init(source, "--out", out, "--force").exit_code == 0


def test_json_has_the_scenario_and_its_questions() -> None:
    """Programs get the text, the groups, and each question with its line."""
    found = json.loads(init("-", "--json", stdin=PROPERTIES).stdout)
    assert found["groups"] == [{"group": "billing", "named": True, "workloads": ["<stdin>"]}]
    lines = found["scenario"].splitlines()
    assert all(lines[question["line"] - 1].strip().startswith("# ? ") for question in found["questions"])


@pytest.mark.parametrize(
    ("text", "name", "words"),
    [
        (MANIFEST.replace("REPLICAS", "many"), "m.yaml", "m.yaml:9:3: error: document 2: `spec.replicas` is `many`"),
        (MANIFEST.replace("REPLICAS", "-1"), "m.yaml", "`spec.replicas` is -1\n    write 0 or more"),
        (MANIFEST.replace("REPLICAS", "{{ .Values.n }}"), "m.yaml", "m.yaml:9:1: error: is a template, not a manifest"),
        ("", "m.yaml", "the file is empty"),
        ("server.port=80\n", "a.properties", "have no consumer, topic or broker"),
        ("a: [1\n", "m.yaml", "m.yaml:2:1: error: this is not YAML"),
        (
            "just: text\n---\napiVersion: v1\nkind: Service\nmetadata: {name: x}\n",
            "m.yaml",
            "document 1: not a manifest",
        ),
        ("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}\n", "m.yaml", "document 1: the Deployment has no"),
    ],
)
def test_bad_input_names_the_place_and_leaves_nothing(tmp_path: Path, text: str, name: str, words: str) -> None:
    """File, document, line and remedy on standard error, exit code 2, and no file."""
    source, out = tmp_path / name, tmp_path / "s.groupsim.yaml"
    source.write_text(text, "utf-8")
    result = init(source, "--out", out)
    assert result.exit_code == 2
    assert words in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_missing_file_is_named_with_the_nearest_one(tmp_path: Path) -> None:
    """Every file that cannot be read is in one report."""
    (tmp_path / "consumer.properties").write_text(PROPERTIES, "utf-8")
    result = init(tmp_path / "consumr.properties", tmp_path / "other.yaml")
    assert result.exit_code == 2
    assert "did you mean `consumer.properties`?" in result.stderr.replace(str(tmp_path) + "/", "")
    assert "other.yaml: error: cannot be read" in result.stderr


def test_a_workload_that_is_not_there_is_refused(tmp_path: Path) -> None:
    """`--workload` with an unknown name answers with the nearest."""
    source = tmp_path / "m.yaml"
    source.write_text(MANIFEST.replace("REPLICAS", "2"), "utf-8")
    result = init(source, "--workload", "order")
    assert result.exit_code == 2
    assert "did you mean `orders`?" in result.stderr
