"""A stand-in for a container engine: Docker's API as far as Testcontainers of Java, Go and Node call it.

A container is a process `groupsim` on this machine with the arguments of the container's command. It has no network of
its own: a port that is published as itself is the process's, and the control port, which is published at a random one,
is moved to a free port before the start.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

CONTROL = "9080"
IMAGE = {"Id": f"sha256:{'1' * 64}", "RepoTags": ["groupsim:latest"], "Os": "linux", "Architecture": "amd64"}
BRIDGE = {"Name": "bridge", "Id": "b", "Driver": "bridge", "IPAM": {"Config": [{"Gateway": "172.17.0.1"}]}}
TIME = "2026-01-01T00:00:00Z"
FIXED: dict[str, Any] = {
    "/_ping": "OK",
    "/version": {"ApiVersion": "1.47", "MinAPIVersion": "1.24", "Version": "27.0.0", "Os": "linux", "Arch": "amd64"},
    "/info": {"ServerVersion": "27.0.0", "OperatingSystem": "stand-in", "OSType": "linux", "MemTotal": 8 << 30},
    "/networks": [BRIDGE],
    "/networks/bridge": BRIDGE,
    "/images/json": [IMAGE],
    "/images/groupsim/json": IMAGE,
    "/images/groupsim:latest/json": IMAGE,
    f"/images/{IMAGE['Id']}/json": IMAGE,
    "/containers/json": [],
}


class Container:
    """What one `create` asked for, and its process. `published` are its ports, inside and outside."""

    def __init__(self, asked: dict[str, Any]) -> None:
        self.asked = asked
        self._process: subprocess.Popen[bytes] | None = None
        bindings = asked["HostConfig"].get("PortBindings") or {}
        self.published = {port.partition("/")[0]: bound[0].get("HostPort") for port, bound in bindings.items()}
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.published[CONTROL] = str(free.getsockname()[1])

    def start(self) -> None:
        """Start the process."""
        command = [self.published[CONTROL] if word == CONTROL else word for word in self.asked["Cmd"]]
        environment = os.environ | dict(one.split("=", 1) for one in self.asked["Env"])
        self._process = subprocess.Popen([sys.executable, "-m", "groupsim", *command], env=environment)

    def stop(self) -> None:
        """End the process, as SIGTERM does."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            self._process.wait(30)

    def about(self) -> dict[str, Any]:
        """What `docker inspect` shows of it."""
        running = self._process is not None and self._process.poll() is None
        state = {
            "Running": running,
            "Status": "running" if running else "exited",
            "StartedAt": TIME,
            "FinishedAt": TIME,
        }
        ports = {f"{port}/tcp": [{"HostIp": "0.0.0.0", "HostPort": host}] for port, host in self.published.items()}
        config = {name: value for name, value in self.asked.items() if name not in ("HostConfig", "NetworkingConfig")}
        return {
            "Name": "/groupsim",
            "Image": IMAGE["Id"],
            "Created": TIME,
            "State": state,
            "Config": config,
            "HostConfig": self.asked["HostConfig"],
            "NetworkSettings": {"Ports": ports, "Networks": {"bridge": {"NetworkID": "b", "IPAddress": "172.17.0.2"}}},
        }


class Engine(BaseHTTPRequestHandler):
    """The API. `containers` are those that were created, by id, those that are removed included."""

    protocol_version = "HTTP/1.1"
    containers: ClassVar[dict[str, Container]] = {}

    def handle_request(self) -> None:
        """Answer one request of any method."""
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = re.sub(r"^/v1\.\d+|\?.*", "", self.path)
        _, _, name, *verb = [*path.split("/"), ""]
        if path in FIXED:
            self._answer(200, FIXED[path])
        elif path == "/containers/create":
            made = os.urandom(32).hex()
            self.containers[made] = Container(json.loads(body))
            self._answer(201, {"Id": made, "Warnings": []})
        elif name not in self.containers:
            self._answer(404, {"message": f"the stand-in has no {path}"})
        elif verb[0] == "json":
            self._answer(200, {"Id": name, **self.containers[name].about()})
        elif verb[0] == "logs":
            self._answer(200, "")
        else:
            self.containers[name].start() if verb[0] == "start" else self.containers[name].stop()
            self._answer(204, "")

    do_GET = do_HEAD = do_POST = do_DELETE = handle_request

    def log_message(self, format: str, *arguments: object) -> None:
        """Print nothing."""

    def _answer(self, status: int, content: Any) -> None:
        data = (content if isinstance(content, str) else json.dumps(content)).encode()
        self.send_response(status)
        self.send_header("Api-Version", "1.47")
        if status != 204:
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)


@contextmanager
def engine() -> Iterator[tuple[str, dict[str, Container]]]:
    """A running stand-in: the value of DOCKER_HOST, and the containers that were created."""
    containers: dict[str, Container] = {}
    handler = type("Running", (Engine,), {"containers": containers})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"tcp://127.0.0.1:{server.server_port}", containers
        finally:
            server.shutdown()
            for container in containers.values():
                container.stop()
