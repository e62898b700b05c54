"""A real Apache Kafka broker on loopback, for tests that ask it what the simulated one should answer.

    with KafkaBroker(nodes=1, properties={"group.initial.rebalance.delay.ms": 0}) as broker:
        connect(broker.bootstrap)

    python tools/kafka_broker.py [--nodes 3] [name=value …]      runs one until ctrl-C and prints its address

KRaft, every node is broker and controller at once (`process.roles=broker,controller`), numbered from 0. The storage is
formatted by Kafka's own `StorageTool`, data and logs lie in a temporary folder that is removed at the end. Ports are
free ones below the range from which a system takes those of outgoing connections, so that a node that was stopped
finds its own port free again. Whatever happens to this process, a guard beside it kills the nodes when it is gone.
"""

from __future__ import annotations

import argparse
import base64
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

import kafka_jars
import kafka_releases

HOST = "127.0.0.1"
PORTS = range(20_000, 32_000)
STARTED = "Kafka Server started"
TAKEN = "Address already in use"
SECONDS = 240
"""How long a node may take to start; alone on two cores it takes five, on a crowded machine minutes."""

# What makes a node small: the log cleaner alone would ask for 128 MiB. Nothing here changes what a client sees.
_SMALL = {
    "background.threads": 2,
    "log.cleaner.dedupe.buffer.size": 2_097_152,
    "num.io.threads": 4,
    "num.network.threads": 2,
    "num.recovery.threads.per.data.dir": 1,
}
_JVM = ("-Xms64m", "-Xmx320m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-Xshare:auto")
_LOG4J = """
status=error
appender.file.type=File
appender.file.name=file
appender.file.fileName={file}
appender.file.layout.type=PatternLayout
appender.file.layout.pattern=[%d] %p %m (%c)%n
rootLogger.level={level}
rootLogger.appenderRef.file.ref=file
"""
# What brokers before 4.0 read (log4j 1).
_LOG4J_1 = """
log4j.rootLogger={level},file
log4j.appender.file=org.apache.log4j.FileAppender
log4j.appender.file.File={file}
log4j.appender.file.layout=org.apache.log4j.PatternLayout
log4j.appender.file.layout.ConversionPattern=[%d] %p %m (%c)%n
"""
# Reads "+pid" and "-pid"; when its input ends, the process that started the nodes is gone, and so are they.
_GUARD = """
import os, shutil, signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
pids = set()
for line in sys.stdin:
    (pids.add if line[0] == "+" else pids.discard)(int(line[1:]))
for pid in pids:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
if sys.argv[1]:
    shutil.rmtree(sys.argv[1], ignore_errors=True)
"""


class BrokerError(Exception):
    """A node did not start or did not end; the message has the last lines of its log."""


class KafkaBroker:
    """One node, or several, as a context manager.

    `properties` are a broker's settings, for every node alike; those that `start` reads may be changed in
    `self.properties` while a node is stopped. `before`: of the release `kafka_jars.BEFORE`; `release`: of another one
    since 4.0, as Maven resolves it (`kafka_releases`). Entering raises `kafka_jars.Unavailable` without Java or jars,
    `BrokerError` when a node does not start.
    """

    def __init__(
        self,
        nodes: int = 1,
        properties: Mapping[str, object] | None = None,
        *,
        log_level: str = "INFO",
        keep: bool = False,
        before: bool = False,
        release: str | None = None,
    ) -> None:
        self.nodes = range(nodes)
        self.properties: dict[str, object] = dict(properties or {})
        self.folder = Path()
        self._log_level = log_level
        self._keep = keep
        self._before = before
        self._release = release
        self._ports: dict[int, int] = {}
        self._controllers: dict[int, int] = {}
        self._running: dict[int, subprocess.Popen[bytes]] = {}
        self._guard: subprocess.Popen[str] | None = None

    # --- Life ------------------------------------------------------------------------------------------------------

    def __enter__(self) -> KafkaBroker:
        self._class_path = self._resolved()
        self._java = kafka_jars.java()
        for attempt in range(3):
            try:
                self._open()
                return self
            except BrokerError as error:
                self.close()
                if TAKEN not in str(error) or attempt == 2:
                    raise
            except BaseException:
                self.close()
                raise
        raise AssertionError("not reached")

    def _resolved(self) -> str:
        if self._release is not None:
            return kafka_releases.class_path(self._release)
        return kafka_jars.class_path(kafka_jars.BROKER_BEFORE if self._before else kafka_jars.BROKER)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _open(self) -> None:
        # The guard removes the folder, too, when its input ends.
        self.folder = Path(tempfile.mkdtemp(prefix="groupsim-kafka-"))
        leave = "" if self._keep else str(self.folder)
        self._guard = subprocess.Popen([sys.executable, "-c", _GUARD, leave], stdin=subprocess.PIPE, text=True)
        ports = iter(free_ports(2 * len(self.nodes)))
        self._ports = {node: next(ports) for node in self.nodes}
        self._controllers = {node: next(ports) for node in self.nodes}
        self._format()
        for node in self.nodes:
            self._launch(node)
        for node in self.nodes:
            self._await_start(node, 0)

    def close(self) -> None:
        """Kill what runs and remove the folder; twice does no harm."""
        for node in list(self._running):
            self.kill(node)
        if self._guard is not None and self._guard.stdin is not None:
            self._guard.stdin.close()
            self._guard.wait()
            self._guard = None

    # --- Nodes -----------------------------------------------------------------------------------------------------

    def kill(self, node: int = 0) -> None:
        """SIGKILL: no word to anybody, as when a machine loses its power."""
        self._end(node, signal.SIGKILL, 30)

    def stop(self, node: int = 0, seconds: float = 60) -> None:
        """SIGTERM: a controlled shutdown, which hands leaderships over. Raises BrokerError when it does not end."""
        self._end(node, signal.SIGTERM, seconds)

    def pause(self, node: int = 0) -> None:
        """Send SIGSTOP: until `resume` connections stay, and no request is answered."""
        self._running[node].send_signal(signal.SIGSTOP)

    def resume(self, node: int = 0) -> None:
        """Go on after `pause`."""
        self._running[node].send_signal(signal.SIGCONT)

    def start(self, node: int = 0, *, wait: bool = True) -> None:
        """Start a node that was stopped or killed, on its data, at its ports. Raises BrokerError when it does not."""
        before = len(self.log(node))
        self._launch(node)
        if wait:
            self._await_start(node, before)

    def running(self, node: int = 0) -> bool:
        """Whether the process of a node is alive."""
        return node in self._running and self._running[node].poll() is None

    # --- What can be asked -----------------------------------------------------------------------------------------

    @property
    def bootstrap(self) -> str:
        """`host:port` of every node, with commas, as clients want it."""
        return ",".join(f"{host}:{port}" for host, port in self.addresses.values())

    @property
    def addresses(self) -> dict[int, tuple[str, int]]:
        """Node → host and port, the same during the whole life."""
        return {node: (HOST, port) for node, port in self._ports.items()}

    def log(self, node: int = 0) -> str:
        """What a node has logged so far."""
        path = self._home(node) / "server.log"
        return path.read_text("utf-8", "replace") if path.exists() else ""

    def data(self, node: int = 0) -> Path:
        """The folder with a node's partitions (`log.dirs`)."""
        return self._home(node) / "data"

    # --- How -------------------------------------------------------------------------------------------------------

    def _home(self, node: int) -> Path:
        return self.folder / f"node-{node}"

    def settings(self, node: int) -> dict[str, object]:
        """The whole `server.properties` of a node."""
        copies = min(3, len(self.nodes))
        voters = ",".join(f"{other}@{HOST}:{port}" for other, port in self._controllers.items())
        listeners = f"PLAINTEXT://{HOST}:{self._ports[node]},CONTROLLER://{HOST}:{self._controllers[node]}"
        return {
            "process.roles": "broker,controller",
            "node.id": node,
            "controller.quorum.voters": voters,
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
            "listeners": listeners,
            "advertised.listeners": f"PLAINTEXT://{HOST}:{self._ports[node]}",
            "log.dirs": self.data(node),
            "offsets.topic.replication.factor": copies,
            "transaction.state.log.replication.factor": copies,
            "transaction.state.log.min.isr": min(2, copies),
            "share.coordinator.state.topic.replication.factor": copies,
            "share.coordinator.state.topic.min.isr": min(2, copies),
            **_SMALL,
            **self.properties,
        }

    def _write_settings(self, node: int) -> Path:
        home = self._home(node)
        home.mkdir(exist_ok=True)
        lines = [f"{name}={value}\n" for name, value in self.settings(node).items()]
        (home / "server.properties").write_text("".join(lines), "utf-8")
        log4j = (_LOG4J_1 if self._before else _LOG4J).format(file=home / "server.log", level=self._log_level)
        (home / "log4j.properties").write_text(log4j, "utf-8")
        return home / "server.properties"

    def _format(self) -> None:
        cluster = base64.urlsafe_b64encode(random.randbytes(16)).decode().rstrip("=")
        for node in self.nodes:
            command = [*self._command(node), "kafka.tools.StorageTool", "format", f"--cluster-id={cluster}"]
            done = subprocess.run(
                [*command, "-c", str(self._write_settings(node))], capture_output=True, text=True, timeout=SECONDS
            )
            if done.returncode:
                raise BrokerError(f"StorageTool could not format node {node}: {done.stdout}{done.stderr}")

    def _command(self, node: int) -> list[str]:
        log4j, own = self._home(node) / "log4j.properties", "log4j" if self._before else "log4j2"
        logging = f"-D{own}.configuration{'' if self._before else 'File'}={'file:' if self._before else ''}{log4j}"
        return [self._java, *_JVM, logging, "-cp", self._class_path]

    def _launch(self, node: int) -> None:
        if self.running(node):
            raise BrokerError(f"node {node} is running already: stop or kill it first")
        command = [*self._command(node), "kafka.Kafka", str(self._write_settings(node))]
        # A session of its own: ctrl-C at a terminal is for the tests, who then end the nodes.
        with (self._home(node) / "printed").open("ab") as out:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, cwd=self._home(node), start_new_session=True
            )
        self._running[node] = process
        self._tell_guard(f"+{process.pid}")

    def _await_start(self, node: int, before: int) -> None:
        end = time.monotonic() + SECONDS
        while STARTED not in self.log(node)[before:]:
            if not self.running(node):
                raise BrokerError(f"node {node} ended as it started: {self._last(node)}")
            if time.monotonic() > end:
                raise BrokerError(f"node {node} did not start within {SECONDS} s: {self._last(node)}")
            time.sleep(0.05)

    def _last(self, node: int) -> str:
        return self.log(node)[-3000:] + (self._home(node) / "printed").read_text("utf-8", "replace")[-1000:]

    def _end(self, node: int, how: signal.Signals, seconds: float) -> None:
        process = self._running[node]
        process.send_signal(how)
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise BrokerError(f"node {node} did not end {seconds:g} s after {how.name}: {self._last(node)}") from None
        del self._running[node]
        self._tell_guard(f"-{process.pid}")

    def _tell_guard(self, line: str) -> None:
        assert self._guard is not None
        assert self._guard.stdin is not None
        print(line, file=self._guard.stdin, flush=True)


def free_ports(count: int) -> list[int]:
    """Return `count` ports of loopback without a listener."""
    found: list[int] = []
    for port in random.sample(PORTS, len(PORTS)):
        if len(found) == count:
            break
        with socket.socket() as probe:
            try:
                probe.bind((HOST, port))
                found.append(port)
            except OSError:
                continue
    return found


def main() -> None:
    """Run a broker until ctrl-C."""
    parser = argparse.ArgumentParser(description="A real Kafka broker on loopback, until ctrl-C")
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--before", action="store_true", help=f"of release {kafka_jars.BEFORE}")
    parser.add_argument("settings", nargs="*", metavar="name=value")
    asked = parser.parse_args()
    properties = dict(setting.split("=", 1) for setting in asked.settings)
    with KafkaBroker(asked.nodes, properties, before=asked.before) as broker:
        print(broker.bootstrap, broker.folder, flush=True)
        try:
            signal.pause()
        except KeyboardInterrupt:
            print(file=sys.stderr)


if __name__ == "__main__":
    main()
