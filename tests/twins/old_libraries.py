"""Old releases of other libraries than Java's as real clients: each in a folder of its own in the user's cache.

librdkafka is the one inside the wheel that confluent-kafka for Python had for it: pip fetches it for the Python that it
was made for, and `twin_rdkafka.py` loads the library alone. npm fetches kafkajs; Go's modules are pinned in `go_old`.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import kafka_jars

from tests.twins import librdkafka
from tests.twins.clients import Client

_PROGRAMS = Path(__file__).parents[1] / "interop"
_PIP = ("-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps", "--no-compile")
_SECONDS = 300
#: Release → the Python that a wheel with it was made for.
_WHEELS = {"1.8.2": "3.8", "1.9.0": "3.10"}
_KAFKAJS = {
    "groupId": "group.id",
    "sessionTimeout": "session.timeout.ms",
    "heartbeatInterval": "heartbeat.interval.ms",
    "rebalanceTimeout": "rebalance.timeout.ms",
    "metadataMaxAge": "metadata.max.age.ms",
    "maxWaitTimeInMs": "fetch.max.wait.ms",
}


def old_librdkafka(version: str) -> Client:
    """A release of librdkafka."""
    return Client(f"librdkafka-{version}", "", partial(_librdkafka, version), _of_librdkafka)


def _of_librdkafka(properties: Mapping[str, object]) -> Mapping[str, object]:
    """Its backoffs do not grow before 2.3."""
    found = librdkafka.settings(properties)
    return {name: value for name, value in found.items() if name != "retry.backoff.max.ms"}


def _librdkafka(version: str) -> Sequence[str]:
    folder = _folder("librdkafka", version)
    if not folder.exists():
        made = folder.with_name(f"{folder.name}.{os.getpid()}")
        wheel = ("--only-binary", ":all:", "--python-version", _WHEELS[version], "--target", str(made))
        _called([sys.executable, *_PIP, *wheel, f"confluent-kafka=={version}"], folder.parent)
        made.rename(folder)
    libraries = list(folder.glob("confluent_kafka.libs/librdkafka-*.so*"))
    if not libraries:
        raise kafka_jars.Unavailable(f"the wheel of confluent-kafka {version} for this machine has no librdkafka")
    return [sys.executable, str(_PROGRAMS / "python" / "twin_rdkafka.py"), str(libraries[0])]


def old_kafkajs(version: str) -> Client:
    """A release of kafkajs."""
    return Client(f"kafkajs-{version}", "", partial(_kafkajs, version), _of_kafkajs)


def _kafkajs(version: str) -> Sequence[str]:
    folder = _folder("kafkajs", version)
    if not folder.exists():
        made = folder.with_name(f"{folder.name}.{os.getpid()}")
        asked = ("npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(made), f"kafkajs@{version}")
        _called(asked, folder.parent)
        made.rename(folder)
    node = shutil.which("node")
    if node is None:
        raise kafka_jars.Unavailable("node is not installed")
    return ["env", f"NODE_PATH={folder / 'node_modules'}", node, str(_PROGRAMS / "node" / "twin.js")]


def _of_kafkajs(properties: Mapping[str, object]) -> Mapping[str, object]:
    """Its settings, by the call that takes them."""
    retry = {"initialRetryTime": properties["retry.backoff.ms"]}
    consumer = {own: properties[name] for own, name in _KAFKAJS.items() if name in properties}
    return {
        "client": {"clientId": properties["client.id"], "retry": retry},
        "consumer": consumer,
        "run": {"autoCommit": properties["enable.auto.commit"]},
    }


def old_sarama(version: str) -> Client:
    """A release of sarama."""
    return Client(f"sarama-{version}", "", partial(_go, "sarama", version), dict)


def old_franz_go(version: str) -> Client:
    """A release of franz-go."""
    return Client(f"franz-go-{version}", "", partial(_go, "franz", version), dict)


def _go(program: str, version: str) -> Sequence[str]:
    """A program in Go, built with a release: `go_old` has a list of modules and of their checksums for each."""
    source = _PROGRAMS / "go_old" / program
    parts = [source / name for name in ("main.go", f"{version}.mod", f"{version}.sum")]
    digest = hashlib.sha256(b"".join(part.read_bytes() for part in parts)).hexdigest()[:16]
    path = _folder(program, f"{version}-{digest}")
    if not path.exists():
        made = path.with_name(f"{path.name}.{os.getpid()}")
        _called(["go", "build", "-mod=readonly", f"-modfile={version}.mod", "-trimpath", "-o", str(made), "."], source)
        made.rename(path)
    return [str(path)]


def _folder(library: str, version: str) -> Path:
    folder = kafka_jars.cache().with_name("old") / f"{library}-{version}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    return folder


def _called(command: Sequence[str], folder: Path) -> None:
    """Run a command. Raises `kafka_jars.Unavailable` where it fails."""
    try:
        environment = {**os.environ, "GOTOOLCHAIN": "local", "GOWORK": "off", "GOFLAGS": ""}
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as why:
        raise kafka_jars.Unavailable(f"{' '.join(command[:3])}: {why}") from None
    if done.returncode:
        raise kafka_jars.Unavailable(f"{' '.join(command[:3])}: {(done.stderr or done.stdout).strip()[-300:]}")
