"""Ready to publish: metadata, one version, a workflow without a token, and a wheel that runs by itself."""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from email import message_from_string
from email.message import Message
from pathlib import Path
from typing import Any

import pytest
from packaging.version import Version
from ruamel.yaml import YAML

from groupsim.cli.error_report import EXTRAS, explain


@pytest.fixture(scope="module")
def project(checkout: Path) -> dict[str, Any]:
    """The table `project` of pyproject.toml."""
    found: dict[str, Any] = tomllib.loads((checkout / "pyproject.toml").read_text("utf-8"))["project"]
    return found


@pytest.fixture(scope="module")
def metadata(wheel: Path) -> Message:
    """What an index reads of the wheel."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [one for one in archive.namelist() if one.endswith(".dist-info/METADATA")]
        return message_from_string(archive.read(name).decode())


def test_the_metadata_say_what_a_visitor_of_the_index_asks(metadata: Message) -> None:
    """Summary, description, license, keywords, addresses, and the Pythons that `requires-python` allows."""
    assert metadata["Summary"]
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert "# groupsim" in str(metadata.get_payload())
    assert "kafka" in metadata["Keywords"]
    urls = dict(line.split(", ", 1) for line in metadata.get_all("Project-URL") or [])
    assert {"Documentation", "Source", "Issues", "Changelog"} <= set(urls)
    versions = [line.rpartition(" ")[2] for line in metadata.get_all("Classifier") or [] if "Python :: 3." in line]
    assert versions
    assert f">={versions[0]}" == metadata["Requires-Python"]


def test_the_changelog_begins_with_the_version(checkout: Path, project: dict[str, Any]) -> None:
    """The newest heading names the version of pyproject.toml, or the one after it as unreleased."""
    newest = re.search(r"^## (\S+) (\(.*\))$", (checkout / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert newest is not None
    released = Version(project["version"])
    assert Version(newest[1]) == released or (Version(newest[1]) > released and newest[2] == "(unreleased)")


def test_the_addresses_agree(checkout: Path, project: dict[str, Any]) -> None:
    """Metadata, site and the page on releases name the same repository."""
    site = (checkout / "mkdocs.yml").read_text("utf-8")
    assert f"site_url: {project['urls']['Documentation']}\n" in site
    assert f"  repository: {project['urls']['Source']}\n" in site
    assert project["urls"]["Source"].removeprefix("https://") in (checkout / "RELEASING.md").read_text("utf-8")


def test_a_release_is_published_without_a_token(checkout: Path) -> None:
    """Trusted publishing: the workflow may ask for an identity, and names no secret; it tries what it publishes."""
    text = (checkout / ".github" / "workflows" / "release.yml").read_text("utf-8")
    jobs = YAML(typ="safe").load(text)["jobs"]
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    assert jobs["publish"]["needs"] == "build"
    assert "secrets." not in text
    assert any(step.get("run") == "make wheel" for step in jobs["build"]["steps"])


def test_the_demo_runs_from_the_wheel(installed: Path, tmp_path: Path) -> None:
    """Without the checkout: what the wheel holds is enough for `groupsim run demo`, beside what it depends on."""
    path = f"{installed}:{sysconfig.get_path('purelib')}:{sysconfig.get_path('platlib')}"
    code = "import groupsim, sys; from groupsim.__main__ import main; sys.argv = ['groupsim', 'run', 'demo']; main()"
    done = subprocess.run(
        [sys.executable, "-S", "-c", code],  # -S: the editable install stays out of it
        cwd=tmp_path,
        env={"PYTHONPATH": path, "COLUMNS": "100"},
        text=True,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("1 rebalance of g1, 43.3 s stopped, 6 partitions moved")


@pytest.mark.slow
def test_the_wheel_runs_in_an_environment_of_its_own(wheel: Path, checkout: Path, tmp_path: Path) -> None:
    """In a new environment the wheel brings all that `groupsim run demo` needs."""
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    pip = [
        python,
        "-m",
        "pip",
        "install",
        "-q",
        "--disable-pip-version-check",
        "-c",
        checkout / "constraints.txt",
        wheel,
    ]
    subprocess.run(pip, check=True)
    done = subprocess.run(
        [tmp_path / "venv" / "bin" / "groupsim", "run", "demo"],
        cwd=tmp_path,
        text=True,
        capture_output=True,
        check=True,
    )
    assert done.stdout.startswith("1 rebalance of g1, 43.3 s stopped, 6 partitions moved")
    sweep = [tmp_path / "venv" / "bin" / "groupsim", "sweep", "rolling-deploy-small", "--out", "results"]
    refused = subprocess.run(sweep, cwd=tmp_path, text=True, capture_output=True, check=False)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert 'pip install "groupsim[parquet]"' in refused.stderr


@pytest.mark.parametrize("module", sorted(EXTRAS))
def test_a_missing_distribution_is_named_with_the_extra_that_brings_it(module: str, project: dict[str, Any]) -> None:
    """A command without what it needs ends as bad input does, with the command that installs it; not as a defect."""
    message, remedy, code = explain(ModuleNotFoundError(f"No module named '{module}'", name=f"{module}.inner"))
    assert code == 2
    assert module in message
    assert remedy == f'pip install "groupsim[{EXTRAS[module]}]"'
    names = {"re2": "google-re2", "hdfs_native": "hdfs-native"}
    wanted = project["optional-dependencies"][EXTRAS[module]]
    assert any(line.startswith(names.get(module, module)) for line in wanted)
