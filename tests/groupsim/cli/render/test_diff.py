"""The output of `groupsim diff`, as a user sees it."""

from __future__ import annotations

import json
import re
from pathlib import Path

from groupsim.cli.render.diff_sentence import sentence
from groupsim.cli.render.run_diff import DiffRow
from tests.helpers.front_stage import call


def test_diff_of_one_setting(bounce: Path) -> None:
    """Same seed, one setting changed: first divergence and a table of differences."""
    result = call("diff", bounce, "--set", "groups.g1.properties.session.timeout.ms=10000")
    assert result.exit_code == 0
    assert "first divergence at 0:4" in result.stdout
    assert re.search(r"longest rebalance +\d+\.\d s +\d+\.\d s +−35\.0 s", result.stdout)
    assert re.search(r"largest lag +[\d,]+ +[\d,]+ +\S+", result.stdout)
    assert re.search(r"records never delivered +0 +0 +=", result.stdout)


def test_the_first_divergence_is_shown_as_events(bounce: Path) -> None:
    """With `--json` both events of the first divergence have the columns of the trace."""
    result = call("diff", bounce, "--set", "groups.g1.properties.session.timeout.ms=10000", "--json")
    left, right = (json.loads(result.stdout)["divergence"][side] for side in ("left", "right"))
    assert left["kind"] != right["kind"] or left["t_us"] != right["t_us"]
    assert {"seq", "from", "to", "cause", "payload"} <= set(left)


def test_diff_of_a_run_with_itself(bounce: Path, tmp_path: Path) -> None:
    """A trace and the scenario it was made from go the same way."""
    call("run", bounce, "--trace", tmp_path / "t.jsonl")
    document = json.loads(call("diff", tmp_path / "t.jsonl", bounce, "--json").stdout)
    assert document["divergence"] is None
    assert {row["change"] for row in document["rows"]} == {0}


def test_a_table_names_what_it_leaves_out() -> None:
    """Partitions without trouble are counted below those with; the sign of moves that went back is explained."""
    shown = call("run", "three-ages-java-0.9").stdout
    assert re.search(r"\(\d↩\)", shown)
    assert "↩: so many of them back to where they had come from" in shown
    assert re.search(r"^ +the other \d+: none again, skipped or lost", shown, re.MULTILINE)


def test_diff_of_two_files_says_what_they_say_differently(bounce: Path, tmp_path: Path) -> None:
    """Path by path, also what only one of them has; titles and comments do not count, and --json has the same."""
    other = tmp_path / "other.yaml"
    text = bounce.read_text().replace("run-for:", "# longer\nplugin-errors: as-kafka\nrun-for:")
    other.write_text(text.replace("partitions: 4", "partitions: 6"))
    shown = call("diff", bounce, other).stdout
    settings = json.loads(call("diff", bounce, other, "--json").stdout)["settings"]
    assert {"path": "plugin-errors", "left": None, "right": "as-kafka"} in settings
    assert "plugin-errors: (not written) → as-kafka" in shown
    for one in settings:
        assert f"{one['path']}: {one['left'] or '(not written)'} → {one['right']}" in shown
    assert json.loads(call("diff", bounce, bounce, "--json").stdout)["settings"] == []


def test_a_setting_is_no_change_of_a_trace(tmp_path: Path) -> None:
    """A run that is over has the settings it had: `--set` on a trace is refused, wherever the trace stands."""
    kept = tmp_path / "four.jsonl"
    assert call("run", "four-scenes", "--trace", str(kept)).exit_code == 0
    for left in ([], ["four-scenes"]):
        refused = call("diff", *left, str(kept), "--set", "run-for=10s")
        assert (refused.exit_code, "is a trace: --set changes scenarios" in refused.stderr) == (2, True)


def test_the_events_of_a_divergence_are_shown_in_full() -> None:
    """A topic without a partition is no partition None, and a long line goes on below its beginning."""
    shown = call("diff", "four-scenes", "demo").stdout
    assert "None" not in shown
    lines = shown[shown.index("first divergence") :].split("\n\n")[0].splitlines()[1:]
    assert all(line.startswith(("  A  ", "  B  ", "     ")) for line in lines)


def test_what_a_rollout_took_is_compared(bounce: Path, tmp_path: Path) -> None:
    """A row of its own where there is one; of one that was not over nothing is made up."""
    path = tmp_path / "roll.yaml"
    step = "{at: 20s, do: rolling-restart, kind: statefulset, start-time: 5s}"
    path.write_text(f"run-for: 60s\ntopics: {{t: 2}}\ngroups: {{g: {{members: {{c: 2}}}}}}\ntimeline: [{step}]\n")
    changed = json.loads(call("diff", path, "--set", "timeline.0.start-time=15s", "--json").stdout)
    (row,) = [one for one in changed["rows"] if one["name"].startswith("rollout")]
    assert 18_000_000 < row["change"] < 24_000_000
    longer = json.loads(call("diff", path, "--set", "timeline.0.start-time=50s", "--json").stdout)
    (row,) = [one for one in longer["rows"] if one["name"].startswith("rollout")]
    assert (row["right"], row["change"]) == (None, None)
    assert "rollout, first stop" not in call("diff", bounce, "--set", "run-for=50s").stdout


def test_what_is_no_scenario_is_compared_with_nothing(bounce: Path, tmp_path: Path) -> None:
    """An invalid scenario on either side is reported as by `run`, before any run."""
    for text in (
        "- a\n- b\n",
        "run-for: 10s\ngroups: [g1]\ntopics: {t: 1}\n",
        "run-for: 10s\ntopics: 7\ngroups: {g: 3}\n",
    ):
        bad = tmp_path / "bad.yaml"
        bad.write_text(text)
        alone = call("run", bad)
        for sides in ((bounce, bad), (bad, bounce)):
            both = call("diff", *sides)
            assert (both.exit_code, both.stderr) == (2, alone.stderr)


def test_the_sentence_is_about_partitions_and_says_how_to_be_sure(bounce: Path) -> None:
    """What is noticed is how long partitions were unserved; the command below it runs, and compares over seeds."""
    setting = "groups.g1.properties.session.timeout.ms=10000"
    shown = call("diff", bounce, "--set", setting)
    rows = {row["name"]: row for row in json.loads(call("diff", bounce, "--set", setting, "--json").stdout)["rows"]}
    words = " ".join(shown.stdout.split())
    assert rows["unserved, summed over partitions"]["change"] < 0
    assert re.search(r"With B partitions are unserved for [^,]+ instead of [^,]+ in all", words)
    assert "the one that waits longest for" in words
    assert f"groupsim sweep {bounce} --vary groups.g1.properties.session.timeout.ms=as-is,10000 --out results/" in (
        shown.stderr
    )


def test_figures_that_are_equal_or_unknown_are_not_in_the_sentence() -> None:
    """Equal figures have no words, nor figures that read alike; each group has its own words."""
    rows = [
        DiffRow("a: unserved, summed over partitions", 9_000_000, 2_000_000, "us"),
        DiffRow("a: largest lag", None, 3),
        DiffRow("b: records never delivered", 0, 7),
        DiffRow("b: records delivered twice", 4, 4),
    ]
    assert sentence(rows) == (
        "With B a: partitions are unserved for 2.0 s instead of 9.0 s in all. "
        "With B b: 7 instead of 0 records never delivered"
    )
    assert sentence([DiffRow("largest lag", 4, 4)]) == ""
    assert sentence([DiffRow("longest unserved partition", 10_001_000, 10_002_000, "us")]) == ""


def test_two_protocols_differ_from_the_first_request_on(tmp_path: Path) -> None:
    """Runs of a group under both protocols are said to differ from the start, and no first divergence is shown."""
    scenario = tmp_path / "both.yaml"
    scenario.write_text(
        "run-for: 20s\nbroker: {version: '4.4'}\ntopics: {t: 2}\ngroups: {g: {client: java-4.4, members: {m: 1}}}\n"
    )
    result = call("diff", scenario, "--set", "groups.g.properties.group.protocol=consumer")
    assert result.exit_code == 0, result.output
    assert "g uses another protocol in B, so the runs differ from the first request on" in result.stdout
    assert "first divergence" not in result.stdout
