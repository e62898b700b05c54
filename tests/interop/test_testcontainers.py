"""The programs of examples/testcontainers in front of `groupsim serve`, without a container engine.

Each runs with a broker that runs already, and once more with a stand-in for the engine, so that its calls of
Testcontainers run, too.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import kafka_jars
import pytest

from groupsim.control import Served
from tests.helpers.unavailable import unavailable
from tests.interop.engine import CONTROL, engine

pytestmark = [pytest.mark.slow, pytest.mark.interop]

EXAMPLES = Path(__file__).parents[2] / "examples" / "testcontainers"
SECONDS = 300


@pytest.fixture(params=["a broker that runs", "a container"])
def served(request: pytest.FixtureRequest) -> Iterator[dict[str, str]]:
    """The variables that name a broker, or a stand-in for the engine, which must have published one broker's port."""
    if request.param == "a container":
        with engine() as (address, containers):
            yield {"DOCKER_HOST": address, "TESTCONTAINERS_RYUK_DISABLED": "true"}
        for container in containers.values():
            port = container.asked["Cmd"][container.asked["Cmd"].index("--port") + 1]
            assert container.published == {port: port, CONTROL: container.published[CONTROL]}
    else:
        options = ("--brokers", "1", "--topic", "orders:4", "--broker", "group.initial.rebalance.delay.ms=0")
        with Served(*options) as process:
            yield {"GROUPSIM_BOOTSTRAP": process.bootstrap, "GROUPSIM_CONTROL": process.control.url}


@pytest.fixture
def copy(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A copy of the example of that language, so that builds leave nothing in the checkout."""
    return Path(shutil.copytree(EXAMPLES / request.param, tmp_path / request.param))


def fetched(command: tuple[str, ...], folder: Path) -> None:
    """A command that downloads what an example needs, and reads no program of it. Raises `kafka_jars.Unavailable`."""
    if shutil.which(command[0]) is None:
        raise kafka_jars.Unavailable(f"{command[0]} is not installed")
    done = run(command, folder, {})
    if done.returncode:
        raise kafka_jars.Unavailable(f"{' '.join(command)} failed: {(done.stdout + done.stderr)[-500:]}")


def passed(command: tuple[str, ...], folder: Path, served: dict[str, str], printed: str = "") -> None:
    """A command of the page ends with 0, and prints that. Raises AssertionError with all that it printed."""
    done = run(command, folder, served)
    assert done.returncode == 0, done.stdout + done.stderr
    assert printed in done.stdout


def run(command: tuple[str, ...], folder: Path, more: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """A command in a folder, with these variables; no Go toolchain is fetched."""
    environment = {**os.environ, "GOTOOLCHAIN": "local", "GOWORK": "off", "GOFLAGS": "", **more}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
    )


@pytest.mark.parametrize("copy", ["java"], indirect=True)
def test_java_sees_a_forced_rebalance(copy: Path, served: dict[str, str]) -> None:
    """With kafka-clients all partitions are revoked and assigned again, one generation later."""
    try:
        fetched(("mvn", "-q", "-B", "dependency:resolve"), copy)
        passed(("mvn", "-B", "test"), copy, served, "Tests run: 1, Failures: 0, Errors: 0, Skipped: 0")
    except kafka_jars.Unavailable as why:
        unavailable(why, "java")


@pytest.mark.parametrize("copy", ["go"], indirect=True)
def test_go_sees_a_fenced_member(copy: Path, served: dict[str, str]) -> None:
    """With franz-go the partitions are lost and assigned again, to another member id."""
    try:
        fetched(("go", "mod", "download"), copy)
        passed(("go", "mod", "tidy"), copy, served)
        passed(("go", "test", "-v", "./..."), copy, served, "--- PASS: TestAFencedMember")
    except kafka_jars.Unavailable as why:
        unavailable(why, "go")


@pytest.mark.parametrize("copy", ["node"], indirect=True)
def test_node_sees_a_fenced_member(copy: Path, served: dict[str, str]) -> None:
    """With kafkajs the member joins again under another member id and gets its partitions."""
    try:
        fetched(("npm", "install", "--silent", "--no-package-lock", "--no-audit", "--no-fund"), copy)
        passed(("npm", "test"), copy, served, "# pass 1")
    except kafka_jars.Unavailable as why:
        unavailable(why, "node")
