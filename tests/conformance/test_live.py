"""The brokers that the suite starts end with it."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

_STARTS_ONE = """
import json, trio
from tests.conformance.live import ended_in_order, served
from tests.conformance.player import SETTINGS
ended_in_order()
with served(SETTINGS) as live:
    print(json.dumps(live.addresses[0]), flush=True)
    trio.run(trio.sleep_forever)
"""


def test_a_suite_that_is_terminated_stops_the_broker_it_has_started() -> None:
    """After a SIGTERM in the midst of its plays nobody listens any more."""
    root = Path(__file__).resolve().parents[2]
    suite = subprocess.Popen([sys.executable, "-c", _STARTS_ONE], cwd=root, stdout=subprocess.PIPE, text=True)
    try:
        assert suite.stdout is not None
        host, port = json.loads(suite.stdout.readline())
        socket.create_connection((host, port), 10).close()
        suite.send_signal(signal.SIGTERM)
        suite.communicate(timeout=60)
        assert suite.returncode != 0
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((host, port), 10)
    finally:
        suite.kill()
        suite.wait()
