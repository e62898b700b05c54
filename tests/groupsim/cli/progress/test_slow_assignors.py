"""An assignor of the user's own that computes for long is named, and ctrl-C shows where it stood."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from groupsim.assignors import Assignor, AssignorError, run_assignor
from groupsim.cli.progress.slow_assignors import slow_assignors_named
from groupsim.protocol.embedded.assignment import GroupAssignment, MemberSubscription, TopicMetadata

ENDLESS = """\
import time
from groupsim.assignors import Assignor


class Endless(Assignor):
    name = "endless"

    def assign(self, topics, members):
        print("computing", flush=True)
        while True:
            time.sleep(0.001)
"""
SCENARIO = """\
run-for: 60s
topics: {orders: 4}
groups: {g1: {properties: {partition.assignment.strategy: "endless_one:Endless"}, members: {c: 1}}}
"""


class Slow(Assignor):
    """Computes until the clock says so, as a user's own code may."""

    name = "slow"

    def assign(self, topics, members):  # type: ignore[no-untyped-def]
        """Take 0.3 s of real time."""
        until = time.monotonic() + 0.3
        while time.monotonic() < until:
            pass
        return GroupAssignment({member.member_id: () for member in members})


class Taking(Assignor):
    """Changes what it was given."""

    name = "taking"

    def __init__(self, what: str) -> None:
        self.what = what

    def assign(self, topics, members):  # type: ignore[no-untyped-def]
        """Take something away from the members or the topics."""
        members.pop() if self.what == "members" else topics.clear()
        return GroupAssignment({member.member_id: () for member in members})


@pytest.mark.parametrize("what", ["members", "topics"])
def test_an_assignor_cannot_change_what_it_is_given(what: str) -> None:
    """Members and topics are read-only: `members.pop()` fails with the assignor's line, and no member is lost."""
    with pytest.raises(AssignorError, match=r"test_slow_assignors.py:\d+\): raised AttributeError"):
        run_assignor(Taking(what), {"t": TopicMetadata("t", 2)}, [MemberSubscription("c1", ("t",))])


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="alarms are those of Unix")
def test_an_assignor_that_computes_for_long_is_named_once(capsys: pytest.CaptureFixture[str]) -> None:
    """A call that outlasts the patience is named once, with file and line; a quick one is not named."""
    with slow_assignors_named(0.05):
        run_assignor(Slow(), {"t": TopicMetadata("t", 2)}, [MemberSubscription("c1", ("t",))])
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert "assignor 'slow'" in lines[0]
    assert "test_slow_assignors.py:" in lines[0]
    with slow_assignors_named(5):
        run_assignor(Slow(), {"t": TopicMetadata("t", 2)}, [MemberSubscription("c1", ("t",))])
    assert capsys.readouterr().err == ""
    assert signal.getsignal(signal.SIGALRM) is signal.SIG_DFL


def test_ctrl_c_shows_where_the_assignor_stood(tmp_path: Path) -> None:
    """The message of an interrupted run names the assignor, the user's file and line, and the exit code is 130."""
    (tmp_path / "endless_one.py").write_text(ENDLESS, "utf-8")
    (tmp_path / "endless.yaml").write_text(SCENARIO, "utf-8")
    command = [sys.executable, "-m", "groupsim", "run", "endless.yaml"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=-1, stderr=-1, text=True, env={**os.environ}) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == "computing\n"
        run.send_signal(signal.SIGINT)
        _, err = run.communicate(timeout=30)
    assert run.returncode == 130
    assert "interrupted in assignor 'endless'" in err
    assert f"{tmp_path / 'endless_one.py'}:" in err
