"""The served cluster as a whole: the order of its start and of its end.

    bind the control port ─▶ cluster, listeners ─▶ processes, timeline ─▶ control port answers ─▶ ready file
    `stop` is called ─▶ ready file goes ─▶ faults end ─▶ parked requests are answered ─▶ files are closed

Errors happen before the ready file appears, and leave nothing behind.
"""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from structlog.typing import FilteringBoundLogger as Log

from groupsim.cluster.controller.placement import Refused
from groupsim.cluster.log.files.data_dir import DataDirRefused
from groupsim.cluster.tcp import TcpListeners
from groupsim.cluster.tcp.listeners import raise_file_limit
from groupsim.eventloop.realtime import RealTimeLoop
from groupsim.eventloop.trace.sinks import Sink
from groupsim.eventloop.units import SECOND_US
from groupsim.protocol.values import frozen
from groupsim.scenarios.language.model import Scenario
from groupsim.serving import http
from groupsim.serving.active_faults import ActiveFaults
from groupsim.serving.api import Port, application
from groupsim.serving.log import LOGGED_KINDS, EventLog
from groupsim.serving.ready import ReadyFile
from groupsim.serving.recent_events import RecentEvents
from groupsim.serving.stage import LiveStage

GRACE_US = 5 * SECOND_US


class CannotServe(Exception):
    """The cluster cannot be served: the obstacle, and the remedy."""

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy


@frozen
class Serving:
    """The cluster to serve, and its addresses. Ports of 0 are any free ones; `token` guards the control port."""

    scenario: Scenario
    port: int = 9092
    control_port: int = 9080
    listen: str = "127.0.0.1"
    advertised_host: str | None = None
    api_profile: str = "4.x"
    data_dir: Path | None = None
    ready_file: Path | None = None
    token: str | None = None


class Server:
    """One served cluster: `run` returns after a call of `stop`."""

    def __init__(self, loop: RealTimeLoop, wanted: Serving, log: Log, sinks: Sequence[Sink] = ()) -> None:
        self._loop = loop
        self._wanted = wanted
        self._log = log
        self._sinks = sinks
        self._ready = None if wanted.ready_file is None else ReadyFile(wanted.ready_file)
        self._stopping = loop.event()
        self._over = loop.event()
        self.tail = RecentEvents(loop)

    def stop(self) -> None:
        """Shut down in order; the second call does nothing."""
        self._stopping.set()

    def give_up(self) -> None:
        """End at once: remove the files that announce this server."""
        if self._ready is not None:
            self._ready.remove()

    async def run(self, on_ready: Callable[[Mapping[str, Any]], None]) -> None:
        """Serve until `stop` is called. Raises CannotServe; then everything that was begun has ended."""
        control = self._check()
        try:
            stage, listeners = self._made()
            try:
                await self._open(listeners)
                await self._serve(stage, listeners, control, on_ready)
            finally:
                stage.close()
        finally:
            control.close()
            if self._ready is not None:
                self._ready.remove()

    def _check(self) -> socket.socket:
        """Check for every obstacle before anything is created; return the control port's socket."""
        wanted = self._wanted
        try:
            if self._ready is not None:
                self._ready.check()
        except (ValueError, OSError) as error:
            raise CannotServe(f"--ready-file: {error}") from None
        brokers = wanted.scenario.cluster.brokers
        for number, node in enumerate(brokers.ids if wanted.port else ()):
            _bound(wanted.listen, wanted.port + number, f"broker {node}", "--port").close()
        return _bound(wanted.listen, wanted.control_port, "the control port", "--control-port")

    def _made(self) -> tuple[LiveStage, TcpListeners]:
        wanted, trace = self._wanted, self._loop.trace
        raise_file_limit()  # segments are open files
        trace.subscribe(self.tail)
        trace.subscribe(EventLog(self._log).write, LOGGED_KINDS)
        for sink in self._sinks:
            trace.subscribe(sink)
        try:
            stage = LiveStage(self._loop, wanted.scenario, wanted.data_dir)
            listeners = TcpListeners(
                stage.replicated,
                host=wanted.listen,
                advertised_host=wanted.advertised_host,
                ports=wanted.port,
                profile=wanted.api_profile,
                log=self._log,
            )
        except (ValueError, OSError, DataDirRefused) as error:
            raise _in_the_way(error) from None
        return stage, listeners

    async def _open(self, listeners: TcpListeners) -> None:
        try:
            await listeners.open()
        except OSError as error:
            raise CannotServe(f"a broker cannot listen: {error.strerror or error}", "choose another --port") from None

    async def _serve(
        self, stage: LiveStage, listeners: TcpListeners, control: socket.socket, on_ready: Callable[..., None]
    ) -> None:
        loop, book = self._loop, ActiveFaults(stage)
        about = self._describe(stage, listeners, control)
        port = Port(loop, stage, book, self.tail, listeners.addresses, about, self._wanted.token, self.stop)
        _begin(stage)
        loop.start_soon(self._answer, application(port), control, name="control port")
        try:
            if self._ready is not None:
                token = {"token": self._wanted.token} if self._wanted.token else {}
                self._ready.write({**about, **token, "pid": os.getpid()})
            on_ready(about)
            await self._stopping.wait()
        finally:
            if self._ready is not None:
                self._ready.remove()
        book.end_all()
        _end_processes(stage)
        await listeners.close(GRACE_US)
        self.tail.ended = True
        await self._over.wait()

    async def _answer(self, app: Any, control: socket.socket) -> None:
        try:
            await http.answer(app, control, self._stopping.wait)
        finally:
            self._over.set()

    def _describe(self, stage: LiveStage, listeners: TcpListeners, control: socket.socket) -> dict[str, Any]:
        """Return the description of the cluster in the ready file and `GET /cluster`."""
        host, number = control.getsockname()[:2]
        host = _reachable(host)
        return {
            "bootstrap": listeners.bootstrap,
            "control": f"http://{f'[{host}]' if ':' in host else host}:{number}",
            "cluster_id": stage.replicated.cluster_id,
            "api_profile": self._wanted.api_profile,
            "listeners": {str(node): f"{at}:{port}" for node, (at, port) in listeners.addresses.items()},
        }


def _begin(stage: LiveStage) -> None:
    """Create the topics, start processes and timeline. Raises CannotServe for a topic that Kafka would refuse."""
    try:
        stage.begin()
    except Refused as error:
        remedy = "change it in --topic or in the scenario"
        raise CannotServe(f"a topic cannot be created: {error.message}", remedy) from None


def _end_processes(stage: LiveStage) -> None:
    """End simulated processes before the brokers: they need no answer any more."""
    for member in stage.actors_by_name.values():
        if member.running:
            member.crash()
    for producer in stage.producers_by_name.values():
        if producer.running:
            producer.crash()


def _in_the_way(error: Exception) -> CannotServe:
    """Return the error of a cluster that could not be created."""
    message, _, remedy = str(error).partition("; ")
    if isinstance(error, OSError):
        message, remedy = f"{error.filename or '--data-dir'}: {error.strerror or error}", "give another --data-dir"
    return CannotServe(message, remedy)


def _reachable(host: str) -> str:
    """Return an address to connect to: for a wildcard, this machine's loopback address."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)


def _bound(host: str, port: int, whose: str, option: str) -> socket.socket:
    """Return a listening socket. Raises CannotServe with the address and the remedy."""
    try:
        return http.bound(host, port)
    except OSError as error:
        where = f"{host}:{port}" if port else host
        if error.errno == errno.EADDRINUSE:
            message = f"{where}, for {whose}, is in use by another program"
            raise CannotServe(message, f"choose another {option}, or `{option} 0` for any free port") from None
        if error.errno == errno.EACCES:
            raise CannotServe(f"{where}, for {whose}: not allowed", f"choose a {option} above 1023") from None
        message = f"{where}, for {whose}: {error.strerror or error}"
        raise CannotServe(message, "--listen takes an address of this machine, such as 127.0.0.1 or 0.0.0.0") from None
    except OverflowError:
        raise CannotServe(f"{port}, for {whose}, is no port", f"{option} is a number from 0 to 65535") from None
