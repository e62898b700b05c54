"""What is shipped: everything that belongs to it, nothing else, under one import name."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path

import assemble

import groupsim

NEIGHBOUR = """
import cluster, members, pipeline
import groupsim.cluster, groupsim.members, groupsim.protocol.messages.group

for package in (cluster, members, pipeline):
    assert package.WHOSE == "theirs", package
for package in (groupsim.cluster, groupsim.members, groupsim.protocol.messages.group):
    assert package.__file__.startswith(__import__("sys").argv[1]), package.__file__
print("apart")
"""


def test_the_wheel_holds_exactly_the_packages_and_their_data(wheel: Path) -> None:
    """Every file of every room is in the wheel under `groupsim/`, data files too, and nothing else is."""
    expected = {
        "/".join([*name.split("."), item.name])
        for name, folder in assemble.mapping().items()
        for item in assemble.sources(folder)
    }
    with zipfile.ZipFile(wheel) as archive:
        shipped = set(archive.namelist())
    assert {name for name in shipped if ".dist-info/" not in name} == expected
    assert any(name.endswith("/licenses/LICENSE") for name in shipped)


def test_rooms_do_not_collide_with_a_users_own_packages(installed: Path, tmp_path: Path) -> None:
    """In a project with its own `cluster`, `members` and `pipeline`, `import members` is theirs; ours has a prefix."""
    for name in ("cluster", "members", "pipeline"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text('WHOSE = "theirs"\n')
    (tmp_path / "main.py").write_text(NEIGHBOUR)
    # -S: site-packages as a plain folder, so that the editable install there stays out of it.
    path = f"{installed}:{sysconfig.get_path('purelib')}:{sysconfig.get_path('platlib')}"
    done = subprocess.run(
        [sys.executable, "-S", "main.py", str(installed)],
        cwd=tmp_path,
        env={"PYTHONPATH": path},
        text=True,
        capture_output=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("apart\n", "")


def test_one_name_is_installed_at_the_top(installed: Path) -> None:
    """Beside the metadata and the command, an installation adds `groupsim` and no other name."""
    names = {entry.name for entry in installed.iterdir() if not entry.name.endswith(".dist-info")}
    assert names - {"bin"} == {"groupsim"}


def test_the_editable_install_is_the_checkout(checkout: Path, tmp_path: Path) -> None:
    """From any working directory, `groupsim.<room>` is the folder at the root of the checkout."""
    code = "import groupsim.members as a, groupsim.protocol.errors as b; print(a.__file__); print(b.__file__)"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, text=True, capture_output=True, check=True)
    assert done.stdout.split() == [
        str(checkout / "members" / "__init__.py"),
        str(checkout / "protocol" / "errors.py"),
    ]


def test_the_version_stands_in_the_metadata_alone(checkout: Path) -> None:
    """One place says the version: pyproject, from where the metadata has it; the package has no copy."""
    project = tomllib.loads((checkout / "pyproject.toml").read_text("utf-8"))["project"]
    assert importlib.metadata.version("groupsim") == project["version"]
    assert not hasattr(groupsim, "__version__")


def test_the_command_and_the_plugin_can_be_loaded() -> None:
    """What the entry points name exists."""
    ours = importlib.metadata.distribution("groupsim").entry_points
    assert {(entry.group, entry.name) for entry in ours} >= {("console_scripts", "groupsim"), ("pytest11", "groupsim")}
    for entry in ours:
        assert entry.load() is not None
