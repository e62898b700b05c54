from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from groupsim.cli.app import app
from tests.helpers.front_stage import BOUNCE, call, shell

# --- run ---------------------------------------------------------------------------------------------------------


def test_a_run_begins_with_its_headline(bounce: Path) -> None:
    """The first line is the one people quote; the timeline and the lanes follow."""
    result = call("run", bounce)
    assert result.exit_code == 0
    text = " ".join(result.stdout.split())
    assert text.startswith("1 rebalance of g1, ")
    assert "partitions moved: c1 (crashed at 0:31.000) held generation 2 open until its session ended" in text
    assert re.search(r"^  c1 +░+━+x+░+━+$", result.stdout, re.MULTILINE)


def test_producers_stand_apart(bounce: Path) -> None:
    """They are no members; one that is away for a while has a lane below theirs, one that never was has none."""
    producers = "producers:\n  shop: {topic: orders, rate: 5/s}\n  late: {topic: orders, rate: 5/s, start: 60s}\n"
    bounce.write_text(BOUNCE.replace("rate: 40/s", "replication: 1") + producers + "cluster: {logs: replicated}\n")
    shown = call("run", bounce).stdout
    assert "2 member processes, 2 producers" in " ".join(shown.split())
    assert re.search(r"^  c2 .*\n  late +·+━+$", shown, re.MULTILINE)
    assert not re.search(r"^  shop ", shown, re.MULTILINE)


def test_an_expectation_that_fails_is_exit_code_1(bounce: Path) -> None:
    """What was expected, what was found and where it stands in the file."""
    bounce.write_text(BOUNCE + "expect:\n  - {rebalances: 5, because: a test needs it}\n")
    result = call("run", bounce)
    assert result.exit_code == 1
    assert "1 of 1 failed" in result.stdout
    assert "bounce.yaml:14, because a test needs it" in " ".join(result.stdout.split())


def test_json_has_the_story_and_the_verdicts(bounce: Path) -> None:
    """`--json` prints one document with headline, generations, lanes and expectations."""
    bounce.write_text(BOUNCE + "expect:\n  - {rebalances: 1}\n")
    document = json.loads(call("run", bounce, "--json").stdout)
    assert document["headline"].startswith("1 rebalance of g1")
    assert [g["cause"] for g in document["groups"][0]["generations"]] == ["first start", "deploy-join"]
    assert document["groups"][0]["rebalances"] == 1
    assert [one["holds"] for one in document["expectations"]] == [True]
    assert document["exit_code"] == 0


def test_trace_and_logs_are_written(bounce: Path, tmp_path: Path) -> None:
    """`--trace` and `--logs` leave whole files behind, and say where."""
    result = call("run", bounce, "--trace", tmp_path / "t.jsonl", "--logs", tmp_path / "logs")
    assert result.exit_code == 0
    assert json.loads((tmp_path / "t.jsonl").read_text().splitlines()[0])["kind"] == "run.started"
    assert {"c1.log", "c2.log"} < {path.name for path in (tmp_path / "logs").iterdir()}
    assert "t.jsonl" in result.stderr


def test_a_setting_can_be_changed_for_one_run(bounce: Path) -> None:
    """`--set` takes Kafka's own dotted names."""
    shorter = call("run", bounce, "--json", "--set", "groups.g1.properties.session.timeout.ms=10000")
    held = json.loads(shorter.stdout)["groups"][0]["generations"][1]["absent"][0]
    assert 7_000_000 < held["after_us"] < 10_000_000


@pytest.mark.parametrize("width", ["80", "120", "160"])
def test_nothing_is_wider_than_the_terminal(bounce: Path, width: str) -> None:
    """The timeline fits terminals from 80 columns on."""
    result = CliRunner(env={"COLUMNS": width, "NO_COLOR": "1"}).invoke(app, ["run", str(bounce)])
    assert max(len(line) for line in result.stdout.splitlines()) <= int(width)


def test_the_headline_stays_one_line_in_a_pipe(bounce: Path) -> None:
    """Without a terminal and without COLUMNS, `| head -1` gives the whole line to quote."""
    env = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    command = [sys.executable, "-m", "groupsim.cli.app", "run", str(bounce)]
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
    first = done.stdout.splitlines()[0]
    assert len(first) > 80
    assert first.endswith("until its session ended")


def test_ctrl_c_while_the_command_starts_is_no_traceback() -> None:
    """The entry point hears it before the rest of the program is imported."""
    script = (
        "import builtins, sys; real = builtins.__import__\n"
        "def stop(name, *rest):\n"
        "    if name == 'typer': raise KeyboardInterrupt\n"
        "    return real(name, *rest)\n"
        "builtins.__import__ = stop\n"
        "from groupsim.__main__ import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", script, "list"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "groupsim: interrupted\n")


def test_a_terminal_without_unicode_gets_plain_characters(bounce: Path) -> None:
    """Where the encoding knows no block characters, ASCII draws the lanes."""
    done = subprocess.run(
        [sys.executable, "-m", "groupsim.cli.app", "run", str(bounce)],
        capture_output=True,
        env={"PYTHONIOENCODING": "ascii:replace", "PYTHONUTF8": "0", "COLUMNS": "100"},
        check=True,
    )
    assert re.search(rb"^  c1 +-+=+x+-+=+$", done.stdout, re.MULTILINE)


# --- bad input -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message", "remedy"),
    [
        (["run", "dmeo"], "no scenario of the library has this name", "did you mean `demo`?"),
        (["run", "/nowhere/x.yaml"], "cannot be read", "check the path"),
        (["run", "{bounce}", "--trace", "out.csv"], "a trace ends in .jsonl or .parquet", "out.jsonl"),
        (["run", "{bounce}", "--trace", "/nowhere/t.jsonl"], "does not exist", "mkdir -p /nowhere"),
        (["run", "{bounce}", "--logs", "{bounce}"], "is a file", "need a directory"),
        (["run", "{bounce}", "--set", "nonsense"], "not PATH=VALUE", "write for example"),
        (["run", "{bounce}", "--set", "timeline.7.at=1s"], "'7' is not an item", "items count from 0"),
        (["run", "{bounce}", "--set", "run-for=yesterday"], "run-for", "write a number with a unit"),
        (["describe", "{bounce}", "--at", "40"], "--at 40", "write a number with a unit"),
        (["describe", "{bounce}", "--at", "3m"], "after the end of the run", "an earlier time"),
        (["describe", "{bounce}", "--at", "1m", "--group", "g2"], "no group 'g2'", "its groups: g1"),
        (["diff", "{bounce}"], "nothing to compare with", "--set PATH=VALUE"),
        (["diff", "{bounce}", "{bounce}.jsonl"], "there is no such file", "check the path"),
        (["assign", "{bounce}", "--assignor", "range"], "", ""),
    ],
)
def test_bad_input_is_exit_code_2_with_a_remedy(bounce: Path, arguments: list[str], message: str, remedy: str) -> None:
    """What was wrong, what to do, no traceback, nothing on standard output."""
    result = call(*(argument.replace("{bounce}", str(bounce)) for argument in arguments))
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    assert message in result.stderr
    assert remedy in result.stderr


def test_every_mistake_of_a_file_is_shown_at_once(tmp_path: Path) -> None:
    """Misspelt keys and impossible values, each with line, column and remedy."""
    bad = tmp_path / "bad.yaml"
    bad.write_text(BOUNCE.replace("partitions: 4", "partitons: 4").replace("31s", "31"))
    result = call("run", bad)
    assert result.exit_code == 2
    assert "bad.yaml:5:12" in result.stderr
    assert "`partitions`" in result.stderr
    assert "2 errors" in result.stderr


def test_a_file_that_is_no_trace_says_so(tmp_path: Path) -> None:
    """Reading nonsense as a trace is bad input."""
    (tmp_path / "t.jsonl").write_text("not json\n")
    result = call("diff", tmp_path / "t.jsonl", tmp_path / "t.jsonl")
    assert result.exit_code == 2
    assert "is not a trace" in result.stderr


# --- the run failed ------------------------------------------------------------------------------------------------


@pytest.fixture
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A scenario whose assignor raises in the user's own file."""
    (tmp_path / "mine_broken.py").write_text(
        "from groupsim.assignors import Assignor\n\n\nclass Broken(Assignor):\n    name = 'broken'\n\n"
        "    def assign(self, topics, members):\n        raise KeyError('weights')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    path = tmp_path / "broken.yaml"
    path.write_text(BOUNCE.replace("    client: java-3.9", "    client: java-3.9\n    assignor: mine_broken:Broken"))
    return path


def test_a_broken_assignor_stops_the_run_with_its_place(broken: Path, tmp_path: Path) -> None:
    """Assignor, file and line, virtual time, generation and the command that repeats it; no trace is left."""
    result = call("run", broken, "--seed", 5, "--trace", tmp_path / "t.jsonl")
    text = result.stderr.replace("\n", " ")
    assert result.exit_code == 3
    assert "Traceback" not in text
    assert re.search(r"mine_broken\.py:8", text)
    assert re.search(r"at 0:0\d\.\d{3}, generation 1", text)
    assert f"groupsim run {broken} --seed 5 --traceback" in text
    assert [path.name for path in tmp_path.glob("*t.jsonl*")] == []


def test_traceback_shows_the_users_own(broken: Path) -> None:
    """`--traceback` adds where in the user's code it happened."""
    result = call("run", broken, "--traceback")
    assert result.exit_code == 3
    assert "raise KeyError('weights')" in result.stderr


def test_the_command_that_repeats_a_failed_run_says_what_was_set(broken: Path) -> None:
    """Without `--set` it would be another run, so it is in the command, and no other command is printed."""
    setting = "groups.g1.properties.session.timeout.ms=9s"
    for command in ("run", "diff"):
        printed = call(command, broken, "--set", setting, "--traceback").stderr
        wanted = "" if command == "diff" else f" --set {setting}"  # diff runs the file as it is first
        assert re.findall(r"groupsim run .*", printed) == [f"groupsim run {broken}{wanted} --seed 0 --traceback"]


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_is_exit_code_130_and_leaves_nothing(tmp_path: Path, how: signal.Signals) -> None:
    """It ends the run at once, without a traceback and without a half-written trace; so does who stops a container."""
    long = tmp_path / "long.yaml"
    long.write_text(BOUNCE.replace("run-for: 2m", "run-for: 30d").replace("40/s", "2000/s"))
    command = [sys.executable, "-m", "groupsim.cli.app", "run", str(long), "--trace", str(tmp_path / "t.jsonl")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not any(path.stat().st_size for path in tmp_path.glob(".t.jsonl*")) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(how)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in errors
    assert [path.name for path in tmp_path.iterdir()] == ["long.yaml"]


# --- the other commands --------------------------------------------------------------------------------------------


def test_a_scenario_comes_from_standard_input(bounce: Path) -> None:
    """`-` is whatever a pipe holds, for every command that takes a scenario; a comparison reads it twice."""
    text = bounce.read_text("utf-8")
    for command in ("validate -", "run -", "describe - --at 5s", "diff - --set groups.g1.assignor=sticky"):
        result = CliRunner().invoke(app, command.split(), input=text)
        assert (result.exit_code, result.stderr) == (0, ""), command
    broken = CliRunner().invoke(app, ["run", "-"], input="run-for: 1s\ngruops: {}\n")
    assert (broken.exit_code, "<stdin>:2:1: error: unknown key `gruops`" in broken.stderr) == (2, True)


def test_paths_in_standard_input_start_here(bounce: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file named in a scenario that a pipe holds lies in the current folder."""
    monkeypatch.chdir(bounce.parent)
    Path("c.properties").write_text("session.timeout.ms=9000\n")
    text = bounce.read_text("utf-8").replace("members:", "properties-file: c.properties\n    members:", 1)
    for command in ("validate -", "lint -", "run -"):
        result = CliRunner().invoke(app, command.split(), input=text)
        assert "c.properties" not in result.stderr + result.stdout, command


@pytest.mark.parametrize("command", ["run", "lint"])
def test_a_closed_standard_input_is_no_defect(command: str) -> None:
    """A command without a file asks for one."""
    done = shell(f"groupsim {command} - <&-")
    assert (done.returncode, b"<stdin>: error: standard input is closed" in done.stderr) == (2, True)


def test_a_file_without_its_suffix_is_an_error_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What lies beside is nearer than any name of the library; a name with an ending is a file."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.yaml").write_text("run-for: 1s\n")
    assert "did you mean the file `mine.yaml`?" in call("run", "mine").stderr
    for command in ("run", "lint", "validate"):
        printed = call(command, "mien.yaml")
        assert "did you mean `mine.yaml`?" in " ".join((printed.stdout + printed.stderr).split())


@pytest.mark.parametrize("name", ["nowhere.jsonl", "nowhere.parquet"])
def test_a_missing_trace_is_an_error_with_the_command_for_one(bounce: Path, name: str) -> None:
    """Neither a traceback nor a bare system error."""
    result = call("diff", bounce, name)
    assert result.exit_code == 2
    assert f"{name}: there is no such file" in result.stderr
    assert "--trace" in result.stderr


def test_list_finds_what_speaks_of_a_word() -> None:
    """A setting, a client, a thread: all words must be there, in any case; nothing found says where something is."""
    names = [entry["name"] for entry in json.loads(call("list", "INSTANCE-ID", "--json").stdout)["scenarios"]]
    assert {"deploy-jvm-S-static", "two-pods-one-instance-id"} <= set(names)
    assert "demo" not in call("list", "instance-id").stdout
    both = json.loads(call("list", "instance-id", "statefulset", "--json").stdout)["scenarios"]
    assert 0 < len(both) < len(names)
    nowhere = call("list", "no-such-word")
    assert (nowhere.exit_code, "no scenario of the library contains no-such-word" in nowhere.stderr) == (2, True)
    assert "`groupsim list --experiments 'kind of rollout'` finds " in call("list", "kind of rollout").stderr
    assert "rolling-deploy" in call("list", "--experiments", "kind of rollout").stdout
    assert "(also: demo)" in call("list", "demo").stdout  # the other name of a scenario is a name
    assert "`groupsim list --experiments` shows all" in call("list", "--experiments", "no-such-word").stderr


@pytest.mark.parametrize(
    ("command", "schema"),
    [("run demo", 2), ("diff demo demo", 2), ("describe demo --at 40s", 2), ("offsets demo --at 40s", 1), ("list", 1),
     ("list --experiments", 1), ("validate demo", 2), ("lint demo", 2), ("lint --rules", 1), ("run no-such", 2),
     ("diff demo", 2)],
)  # fmt: skip
def test_every_json_document_says_its_schema(command: str, schema: int) -> None:
    """One object with `schema`, whatever the command and however it ends; 2 where a key changed."""
    document = json.loads(call(*command.split(), "--json").stdout)
    assert document["schema"] == schema


def test_the_same_thing_has_the_same_name_in_every_document(tmp_path: Path) -> None:
    """A group is `group`, and how grave something is `severity`, whichever command says it."""
    described = json.loads(call("describe", "demo", "--at", "40s", "--json").stdout)["groups"]["g1"]
    ran = json.loads(call("run", "demo", "--json").stdout)["groups"][0]
    assert described["group"] == ran["group"] == "g1"
    path = tmp_path / "s.yaml"
    path.write_text(
        "run-for: 1s\ntopics: {t: 1}\ngroups: {g: {members: {c: 1}, properties: {heartbeat.interval.ms: 50s}}}\n"
    )
    (problem,) = json.loads(call("validate", path, "--json").stdout)["files"][0]["problems"]
    (finding,) = json.loads(call("lint", path, "--json").stdout)["files"][0]["findings"]
    assert problem["severity"] == finding["severity"] == "error"


def test_list_names_every_scenario() -> None:
    """Each of the library with its sentence; as JSON too."""
    entries = json.loads(call("list", "--json").stdout)["scenarios"]
    text = " ".join(call("list").stdout.split())
    assert all(entry["name"] in text and entry["shows"] in text for entry in entries)


def test_validate_judges_each_file(bounce: Path, tmp_path: Path) -> None:
    """Good files are ok; one bad file makes exit code 2."""
    (tmp_path / "empty.yaml").write_text("")
    result = call("validate", bounce, tmp_path / "empty.yaml")
    assert result.exit_code == 2
    assert "bounce.yaml: ok" in result.stdout
    assert "the file is empty" in result.stdout
    assert call("validate", bounce).exit_code == 0


def test_the_schema_is_json() -> None:
    """`schema` prints a JSON Schema that knows the keys of a scenario."""
    assert "run-for" in json.loads(call("schema").stdout)["properties"]


def test_assign_prints_the_assignment(tmp_path: Path) -> None:
    """One document, one assignor, no simulation."""
    topics, members = {"t": {"partitions": 3}}, [{"id": name, "topics": ["t"]} for name in ("a", "b")]
    document = tmp_path / "group.json"
    document.write_text(json.dumps({"topics": topics, "members": members}))
    result = call("assign", document, "--assignor", "range", "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["assignment"] == {"a": [["t", 0], ["t", 1]], "b": [["t", 2]]}


def test_version() -> None:
    """`--version` prints name and version."""
    assert re.fullmatch(r"groupsim \d+\.\d+\.\d+\n", call("--version").stdout)


@pytest.mark.parametrize("command", ["run", "diff", "describe", "list", "validate", "schema", "assign"])
def test_every_command_explains_itself_with_an_example(command: str) -> None:
    """`--help` shows an example of each command."""
    result = call(command, "--help")
    assert result.exit_code == 0
    assert f"groupsim {command}" in result.stdout.split("Usage:")[1].split("\n", 1)[1] or "| groupsim" in result.stdout


# --- errors for programs -------------------------------------------------------------------------------------------


def test_with_json_an_error_is_json_too(bounce: Path) -> None:
    """Programs read the problems of a file one by one from standard output."""
    bounce.write_text(BOUNCE.replace("crash", "crush").replace("40/s", "40"))
    result = call("run", bounce, "--json")
    error = json.loads(result.stdout)["error"]
    assert (result.exit_code, error["exit_code"]) == (2, 2)
    assert [(one["place"]["line"], one["remedy"]) for one in error["problems"]] == [
        (5, ""),
        (11, "did you mean `crash`?"),
    ]
    assert json.loads(call("describe", "demo", "--at", "9h", "--json").stdout)["error"]["remedy"]


@pytest.mark.parametrize("path", [".", "empty.jsonl"])
def test_what_is_no_trace_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    """A directory cannot be written, an empty file not be compared."""
    monkeypatch.chdir(tmp_path)
    Path("empty.jsonl").touch()
    result = call("run", "demo", "--trace", path) if path == "." else call("diff", path, "demo")
    assert result.exit_code == 2
    assert "is a directory" in result.stderr or "it holds no event" in result.stderr


# --- the user's assignors ------------------------------------------------------------------------------------------

MINE = """\
from groupsim.assignors import Assignor
from groupsim.protocol.embedded.assignment import GroupAssignment


class Mine(Assignor):
    name = "mine"

    def assign(self, topics, members):
        return GroupAssignment({member.member_id: () for member in members})


class Exits(Mine):
    name = "exits"

    def assign(self, topics, members):
        raise SystemExit(7)


class Texts(Mine):
    name = "texts"

    def user_data(self, topics):
        return "text"
"""


@pytest.mark.parametrize(
    ("name", "code", "words_expected"),
    [
        ("Mine", 0, b""),
        ("Exits", 3, b"mine_beside.py:16): raised SystemExit: 7"),
        ("Texts", 3, b"user_data returned a str; return bytes, or None"),
    ],
)
def test_an_assignor_beside_the_scenario(tmp_path: Path, name: str, code: int, words_expected: bytes) -> None:
    """It is found wherever the command is called; that it ends the process or returns nonsense is its own defect."""
    (tmp_path / "mine_beside.py").write_text(MINE)
    scenario = tmp_path / "mine.yaml"
    scenario.write_text(BOUNCE.replace("client: java-3.9", f"assignor: mine_beside:{name}"))
    done = shell(f"groupsim run {scenario}", cwd=tmp_path.parent)
    assert done.returncode == code
    assert words_expected in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "demo", "--json", "--sed", "3"], "No such option: --sed"),
        (["lint", "--json", "--sed", "3"], "No such option: --sed"),
        (["run", "--json"], "Missing argument 'FILE|NAME…'"),
        (["runn", "demo", "--json"], "No such command 'runn'"),
        (["run", "demo", "--json", "--seed", "x"], "Invalid value for '--seed'"),
    ],
)
def test_a_mistyped_line_is_printed_as_json_too(arguments: list[str], message: str) -> None:
    """Who reads standard output as JSON gets a document, though the parser never came to a command."""
    result = call(*arguments)
    error = json.loads(result.stdout)["error"]
    assert message in error["message"]
    assert (result.exit_code, error["exit_code"]) == (2, 2)
    assert message.split("'")[0] in result.stderr
    assert call(*(argument for argument in arguments if argument != "--json")).stdout == ""
