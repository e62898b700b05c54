"""`groupsim serve` as a process: what it says, where it listens, how it ends."""

from __future__ import annotations

import json
import signal
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from groupsim.control import Control, ControlError, Served, ServeFailed

COMMAND = (sys.executable, "-m", "groupsim", "serve")


def ended(*arguments: str) -> tuple[int, str]:
    """Exit code and stderr of a command that ends by itself."""
    done = subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, timeout=120)
    return done.returncode, done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_in_good_order(tmp_path: Path, number: signal.Signals) -> None:
    """The ready file is there, private and whole, while it runs; after the signal it is gone, and the code is 0."""
    ready, trace = tmp_path / "ready.json", tmp_path / "trace.jsonl"
    files = ("--ready-file", str(ready), "--trace", str(trace))
    process = subprocess.Popen(
        [*COMMAND, "--port", "0", "--control-port", "0", *files], stdout=subprocess.PIPE, text=True
    )
    until = time.monotonic() + 60
    while not ready.exists() and time.monotonic() < until:
        time.sleep(0.02)
    said = json.loads(ready.read_text("utf-8"))
    assert said["pid"] == process.pid
    assert len(said["listeners"]) == 3
    assert stat.S_IMODE(ready.stat().st_mode) == 0o600
    process.send_signal(number)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert said["bootstrap"] in out
    assert not ready.exists()
    assert trace.exists()


def test_a_port_in_use_is_named_with_the_remedy(tmp_path: Path) -> None:
    """Nothing is left: no ready file, no data."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ready, data = tmp_path / "ready.json", tmp_path / "data"
        files = ("--ready-file", str(ready), "--data-dir", str(data))
        code, said = ended("--brokers", "1", "--port", str(port), "--control-port", "0", *files)
    assert code == 2
    assert f"127.0.0.1:{port}, for broker 0, is in use" in said
    assert "--port 0" in said
    assert not ready.exists()
    assert not data.exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--port", "80000"), "--port 80000 is no port"),
        (("--brokers", "0"), "--brokers 0"),
        (("--topic", "a:b"), "write --topic orders:6"),
        (("--api-profile", "new"), "--api-profile"),
        (("--broker", "group.initial.rebalance.delay=3"), "did you mean group.initial.rebalance.delay.ms"),
        (("nosuch",), "nosuch"),
        (("--ready-file", "/nowhere/x"), "/nowhere"),
    ],
)
def test_bad_input_is_told_before_anything_starts(arguments: tuple[str, ...], words: str) -> None:
    """A sentence with the remedy, exit code 2."""
    code, said = ended(*arguments, *(() if "--port" in arguments else ("--port", "0")), "--control-port", "0")
    assert code == 2
    assert words in said
    assert "Traceback" not in said


def test_off_loopback_the_control_port_needs_its_token() -> None:
    """The token is made at the start, printed, and in the ready file; without it, or with another, 401."""
    with Served("--listen", "0.0.0.0", "--advertised-host", "127.0.0.1", "--brokers", "1") as served:
        token = json.loads(served.ready_file.read_text("utf-8"))["token"]
        assert token in served.log
        for wrong in (None, "guess"):
            with pytest.raises(ControlError) as caught:
                Control.connect(served.control.url, token=wrong)
            assert caught.value.status == 401
        assert Control.connect(served.control.url, token=token).bootstrap == served.bootstrap


def test_a_kept_cluster_is_the_same_the_next_time(tmp_path: Path) -> None:
    """Its id and topics are there again; meanwhile nobody else may have the folder."""
    options = ("--data-dir", str(tmp_path / "data"), "--brokers", "1", "--broker", "offsets.topic.num.partitions=2")
    with Served(*options) as first:
        first.control.create_topic("orders", 3)
        before = first.control.cluster()
        with pytest.raises(ServeFailed, match="another process uses this folder"):
            Served(*options)
    with Served(*options) as second:
        after = second.control.cluster()
    assert after["cluster_id"] == before["cluster_id"]
    assert "orders" in [topic["name"] for topic in after["topics"]]


def test_the_control_port_can_end_it() -> None:
    """POST /stop is as good as a signal."""
    served = Served("--brokers", "1", "--log-json")
    served.control.stop()
    assert served.stop() == 0
