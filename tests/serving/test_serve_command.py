"""`groupsim serve` as a process: what it says, where it listens, how it ends."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from groupsim.control import Control, ControlError, Served, ServeFailed
from groupsim.serving.ready import ReadyFile

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


BAD_INPUT = {
    ("--port", "80000"): "--port 80000 is not a port",
    ("--brokers", "0"): "--brokers 0",
    ("--topic", "a:b"): "write --topic orders:6",
    ("--topic", "no name:1"): "a topic cannot be created: Topic name is invalid",
    ("--topic", "orders:1:4"): "only 3 broker(s) are registered",
    ("--api-profile", "new"): "write one of 2.8, 3.9",
    ("--api-profile", "5.0"): "or another release from 2.0 to 4.4",
    ("--broker", "group.initial.rebalance.delay=3"): "did you mean group.initial.rebalance.delay.ms",
    ("--set", "run-for=1s"): "--broker KEY=VALUE changes a setting without one",
    ("nosuch",): "no scenario of the library has this name",
    ("--ready-file", "/nowhere/x"): "/nowhere",
    ("--listen", "192.0.2.1"): "--listen takes an address of this machine",
    ("--listen", "0.0.0.0"): "add --advertised-host",
    ("--listen", "::"): "add --advertised-host",
}

EACH_IN_TURN = """
import contextlib, io, json, sys
from groupsim.cli.app import main
told = []
for arguments in json.loads(sys.argv[1]):
    sys.argv = ["groupsim", "serve", "--port", "0", *arguments]
    with contextlib.redirect_stderr(io.StringIO()) as said:
        try:
            main()
        except SystemExit as ended:
            told.append((ended.code, said.getvalue()))
told.append((0, f"hypothesis is loaded: {bool(sys.modules.get('hypothesis'))}"))
print(json.dumps(told))
"""
LOADED = ("what was imported meanwhile",)


@pytest.fixture(scope="module")
def told() -> dict[tuple[str, ...], tuple[int, str]]:
    """What each bad input came to, exit code and stderr: all in one process, which takes its time to import."""
    given = json.dumps([list(arguments) for arguments in BAD_INPUT])
    command = [sys.executable, "-c", EACH_IN_TURN, given]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    answers = [(code, said) for code, said in json.loads(done.stdout)]
    return dict(zip([*BAD_INPUT, LOADED], answers, strict=True))


@pytest.mark.parametrize("arguments", BAD_INPUT, ids=" ".join)
def test_bad_input_is_told_before_anything_starts(
    told: dict[tuple[str, ...], tuple[int, str]], arguments: tuple[str, ...]
) -> None:
    """A sentence with the remedy, exit code 2."""
    code, said = told[arguments]
    assert code == 2
    assert BAD_INPUT[arguments] in said
    assert "Traceback" not in said
    assert "a defect" not in said


def test_what_only_tests_need_is_not_imported(told: dict[tuple[str, ...], tuple[int, str]]) -> None:
    """kio would import hypothesis, and double the time of a start."""
    assert told[LOADED] == (0, "hypothesis is loaded: False")


MISSING = """
import sys
sys.modules[sys.argv[1]] = None
sys.argv = ["groupsim", "serve", "--port", "0"]
from groupsim.cli.app import main
main()
"""


def test_what_is_not_installed_is_named_with_the_extra() -> None:
    """Without a package of the extra the command says which it is and what to install."""
    done = subprocess.run([sys.executable, "-c", MISSING, "kio"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert "serving needs kio, which is not installed" in done.stderr
    assert 'pip install "groupsim[serve]"' in done.stderr


def test_a_second_signal_ends_it_at_once(tmp_path: Path) -> None:
    """Two signals, one right after the other: the process ends with the second's code, and the ready file is gone."""
    ready = tmp_path / "ready.json"
    process = subprocess.Popen(
        [*COMMAND, "--port", "0", "--brokers", "1", "--ready-file", str(ready)], stdout=subprocess.DEVNULL
    )
    until = time.monotonic() + 60
    while not ready.exists() and time.monotonic() < until:
        time.sleep(0.02)
    for number in (signal.SIGSTOP, signal.SIGINT, signal.SIGTERM, signal.SIGCONT):  # both are there when it goes on
        process.send_signal(number)
    assert process.wait(60) in (128 + signal.SIGINT, 128 + signal.SIGTERM)
    assert not ready.exists()


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


def test_the_control_port_is_printed_where_it_listens() -> None:
    """The advertised host of the brokers does not change the URL of the control port."""
    with Served("--listen", "127.0.0.1", "--advertised-host", "kafka.example", "--brokers", "1") as served:
        said = json.loads(served.ready_file.read_text("utf-8"))
        assert said["control"].startswith("http://127.0.0.1:")
        assert f"control       {said['control']} " in served.log
        assert said["bootstrap"].startswith("kafka.example:")
        assert Control.connect(said["control"], token=said.get("token")).cluster()["control"] == said["control"]


def test_a_kept_cluster_is_the_same_the_next_time(tmp_path: Path) -> None:
    """Its topics are there again, and its id, wherever it is told; meanwhile nobody else may have the folder."""
    options = ("--data-dir", str(tmp_path / "data"), "--brokers", "1", "--broker", "offsets.topic.num.partitions=2")
    with Served(*options) as first:
        first.control.create_topic("orders", 3)
        before = first.control.cluster()
        with pytest.raises(ServeFailed, match="another process uses this folder"):
            Served(*options)
    with Served(*options) as second:
        after = second.control.cluster()
        told = AdminClient({"bootstrap.servers": second.bootstrap}).list_topics(timeout=30)
        ready = json.loads(second.ready_file.read_text("utf-8"))
    assert {after["cluster_id"], ready["cluster_id"], told.cluster_id} == {before["cluster_id"]}
    assert "orders" in [topic["name"] for topic in after["topics"]]


def test_the_control_port_can_end_it() -> None:
    """POST /stop is as good as a signal; what the process said can still be read then."""
    served = Served("--brokers", "1", "--log-json")
    served.control.stop()
    assert served.stop() == 0
    assert '"event": "stopped"' in served.log


def test_a_ready_file_that_could_not_be_written_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything listens, and a file that a killed run left stays as it was."""
    left = tmp_path / "ready.json"
    left.write_text("{}")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(ValueError, match=r"no permission to write in .*; give another path"):
        ReadyFile(left).check()
    assert left.read_text() == "{}"
