"""`groupsim diff --git REV FILE…`: what a change of manifests costs per rollout, as text for a pull request."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from groupsim.cli.app import app

MANIFEST = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: orders}
spec:
  replicas: 2
  strategy: {type: RollingUpdate, rollingUpdate: {maxUnavailable: 0, maxSurge: 1}}
  template:
    spec:
      containers:
        - name: app
          env: [{name: KAFKA_GROUP_ID, value: billing}, {name: KAFKA_TOPIC, value: orders}]
"""
CHEAP = ("--set", "topics.orders.rate=1/s", "--set", "cluster.logs=counted")


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    """A manifest in a repository with one commit."""
    path = tmp_path / "deployment.yaml"
    path.write_text(MANIFEST, "utf-8")
    author = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    for command in (("init", "-q"), ("add", "."), (*author, "commit", "-q", "-m", "first")):
        subprocess.run(["git", "-C", str(tmp_path), *command], check=True)
    return path


def diff(*arguments: str | Path) -> Result:
    """`groupsim diff` with these arguments."""
    return CliRunner().invoke(app, ["diff", *map(str, arguments)])


def test_a_change_of_the_strategy_has_its_price(manifest: Path) -> None:
    """Recreate leaves every partition unserved for the start of a pod, a rolling update does not: the sentence says it,
    the table has the figures, and the change is named."""
    manifest.write_text(MANIFEST.replace("type: RollingUpdate", "type: Recreate"), "utf-8")
    result = diff("--git", "HEAD", manifest, *CHEAP)
    assert result.exit_code == 0, result.stderr
    first = result.stdout.splitlines()[0]
    assert first.startswith("**This change costs ")
    assert " unserved per rollout instead of " in first
    assert "| one rollout of `billing` | HEAD | here | change |" in result.stdout
    assert "- `timeline.0.kind`: `deployment` → `recreate`" in result.stdout
    assert "(`processing: lognormal(median=5ms, p95=20ms)`)" in result.stdout


def test_json_has_both_figures(manifest: Path) -> None:
    """The first row is the unserved time of both versions, in microseconds, the later version's being the larger."""
    manifest.write_text(MANIFEST.replace("type: RollingUpdate", "type: Recreate"), "utf-8")
    found = json.loads(diff("--git", "HEAD", manifest, *CHEAP, "--json").stdout)
    rows = {row["name"]: row for row in found["groups"][0]["rows"]}
    unserved = rows["unserved, summed over partitions"]
    assert unserved["right"] > unserved["left"] + 12 * 15_000_000  # twelve partitions, a start of 20 s


def test_comments_change_nothing(manifest: Path) -> None:
    """Where the versions differ in nothing that a scenario has, one sentence says so, without a table."""
    manifest.write_text(f"# a remark\n{MANIFEST}", "utf-8")
    result = diff("--git", "HEAD", manifest, *CHEAP)
    assert result.stdout.startswith("**No value of the scenario changes")
    assert "|---" not in result.stdout


def test_two_manifests_are_compared_as_two_revisions_are(manifest: Path) -> None:
    """Without a repository, two files have their names as columns, and the same sentence."""
    other = manifest.with_name("recreate.yaml")
    other.write_text(MANIFEST.replace("type: RollingUpdate", "type: Recreate"), "utf-8")
    result = diff(manifest, other, *CHEAP)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("**This change costs ")
    assert f"| one rollout of `billing` | {manifest} | {other} | change |" in result.stdout
    assert "(`groupsim diff`, seed 0)" in result.stdout


@pytest.mark.parametrize(
    ("revision", "name", "words"),
    [
        ("nowhere", "deployment.yaml", "--git nowhere: no such revision"),
        ("HEAD", "other.yaml", "HEAD has none of these files"),
    ],
)
def test_what_cannot_be_compared_is_bad_input(manifest: Path, revision: str, name: str, words: str) -> None:
    """An unknown revision, and a file that it does not have, end with exit code 2 and a remedy."""
    manifest.with_name("other.yaml").write_text(MANIFEST, "utf-8")
    result = diff("--git", revision, manifest.with_name(name))
    assert result.exit_code == 2
    assert words in result.stderr


def test_three_scenarios_are_no_comparison() -> None:
    """Without `--git` two are compared."""
    result = diff("demo", "demo", "demo")
    assert result.exit_code == 2
    assert "3 scenarios to compare" in result.stderr
