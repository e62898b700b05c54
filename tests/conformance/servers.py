"""The two brokers that the suite starts: a real one, and `groupsim serve`."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

import kafka_jars
from kafka_broker import KafkaBroker

KAFKA = KafkaBroker
VERSION = kafka_jars.VERSION
SECONDS = 60
WITHOUT = frozenset({"auto.create.topics.enable"})
"""What the simulated broker has no setting for, and needs none: it makes no topic that nobody asked for."""


@contextmanager
def serve(settings: Mapping[str, object]) -> Iterator[str]:
    """`host:port` of a `groupsim serve` of one broker with these settings, while the context lasts.

    Raises RuntimeError when it does not start.
    """
    with tempfile.TemporaryDirectory(prefix="groupsim-conformance-") as folder:
        ready = Path(folder) / "ready.json"
        command = [sys.executable, "-m", "groupsim", "serve", "--port", "0", "--control-port", "0", "--brokers", "1"]
        for name, value in settings.items():
            if name not in WITHOUT:
                command += ["--broker", f"{name}={value}"]
        with (Path(folder) / "log").open("w+") as log:
            process = subprocess.Popen([*command, "--ready-file", str(ready)], stdout=log, stderr=log)
            try:
                yield _address(process, ready, log.name)
            finally:
                process.terminate()
                process.wait(SECONDS)


def _address(process: subprocess.Popen[bytes], ready: Path, log: str) -> str:
    end = time.monotonic() + SECONDS
    while not ready.exists():
        if process.poll() is not None or time.monotonic() > end:
            raise RuntimeError(f"the simulated cluster did not start: {Path(log).read_text()[-2000:]}")
        time.sleep(0.05)
    return str(json.loads(ready.read_text("utf-8"))["bootstrap"]).split(",")[0]
