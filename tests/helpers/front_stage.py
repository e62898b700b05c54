"""A small scenario, and the command run in this process, for the tests of this folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from typer.testing import CliRunner, Result

from groupsim.cli.app import app

BOUNCE = """\
title: A bounced member
shows: The old incarnation keeps its place until its session ends.
run-for: 2m
topics:
  orders: {partitions: 4, rate: 40/s}
groups:
  g1:
    client: java-3.9
    members: {c1: 1, c2: 1}
timeline:
  - {at: 31s, do: crash, member: c1}
  - {at: 32s, do: start, member: c1}
"""


def call(*args: object) -> Result:
    """Run the command in this process."""
    return CliRunner(env={"COLUMNS": "100", "NO_COLOR": "1"}).invoke(app, [str(arg) for arg in args])


def shell(command: str, *, encoding: str = "utf-8", cwd: Path | None = None) -> subprocess.CompletedProcess[bytes]:
    """The real command in a shell, as `groupsim`."""
    line = command.replace("groupsim ", f"{sys.executable} -m groupsim.cli.app ")
    env = {**os.environ, "PYTHONIOENCODING": encoding, "COLUMNS": "100"}
    return subprocess.run(["sh", "-c", line], capture_output=True, env=env, cwd=cwd, check=False)
