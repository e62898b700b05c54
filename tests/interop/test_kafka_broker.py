"""The fixture that runs a real broker: it comes up, goes down and comes back, and nothing of it stays behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import kafka_jars
import pytest
from kafka_broker import KafkaBroker

TOOLS = Path(__file__).parents[2] / "tools"
ORPHANS = """
import sys, time
sys.path.insert(0, sys.argv[1])
from kafka_broker import KafkaBroker
with KafkaBroker() as broker:
    print(broker._running[0].pid, broker.folder, flush=True)
    time.sleep(600)
"""


def alive(pid: int) -> bool:
    """Whether a process exists and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.slow
def test_a_broker_comes_up_goes_and_comes_back_at_its_port() -> None:
    """Settings arrive, a stopped node starts again on its data at the same address, and the folder goes at the end."""
    try:
        broker = KafkaBroker(properties={"group.initial.rebalance.delay.ms": 7})
        with broker:
            address = broker.bootstrap
            assert "group.initial.rebalance.delay.ms = 7" in broker.log()
            broker.stop()
            assert not broker.running()
            broker.start()
            assert (broker.running(), broker.bootstrap) == (True, address)
            broker.kill()
            assert not broker.running()
    except kafka_jars.Unavailable as why:
        pytest.skip(str(why))
    assert not broker.folder.exists()


@pytest.mark.slow
def test_nodes_do_not_outlive_the_process_that_started_them() -> None:
    """A test run that is killed with SIGKILL leaves no broker: its guard ends it."""
    try:
        kafka_jars.class_path([*kafka_jars.BROKER])
        kafka_jars.java()
    except kafka_jars.Unavailable as why:
        pytest.skip(str(why))
    with subprocess.Popen([sys.executable, "-c", ORPHANS, TOOLS], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        number, folder = parent.stdout.readline().split()
        pid = int(number)
        assert alive(pid)
        os.kill(parent.pid, signal.SIGKILL)
        parent.wait()
    end = time.monotonic() + 60
    while (alive(pid) or Path(folder).exists()) and time.monotonic() < end:
        time.sleep(0.05)
    assert (alive(pid), Path(folder).exists()) == (False, False)
