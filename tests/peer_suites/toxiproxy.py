"""A stand-in for toxiproxy: the ports that sarama's tests know, relayed to the served brokers, and the API they call.

No fault can be asked for, so tests that cut connections are skipped (skips.csv).
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HOST = "127.0.0.1"


class _Api(BaseHTTPRequestHandler):
    """Every proxy is there and enabled; POST /reset has nothing to reset."""

    def do_GET(self) -> None:
        proxy = {"name": self.path.rpartition("/")[2], "listen": "", "upstream": "", "enabled": True, "toxics": []}
        content = json.dumps(proxy).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def do_POST(self) -> None:
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


@contextmanager
def toxiproxy(first_port: int, brokers: Sequence[str]) -> Iterator[str]:
    """Relay ports from `first_port` on to these addresses; the address of the API. Raises OSError for a taken port."""
    with ExitStack() as ends:
        for number, broker in enumerate(brokers):
            ends.enter_context(_relay(first_port + number, broker))
        server = ThreadingHTTPServer((HOST, 0), _Api)
        ends.callback(server.shutdown)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://{HOST}:{server.server_address[1]}"


@contextmanager
def _relay(port: int, broker: str) -> Iterator[None]:
    listener = socket.create_server((HOST, port))
    threading.Thread(target=_accept, args=(listener, broker), daemon=True).start()
    try:
        yield
    finally:
        listener.close()


def _accept(listener: socket.socket, broker: str) -> None:
    host, _, port = broker.rpartition(":")
    while True:
        try:
            client, _ = listener.accept()
            server = socket.create_connection((host, int(port)))
        except OSError:
            return  # the listener is closed, or the broker has gone
        for one, other in ((client, server), (server, client)):
            threading.Thread(target=_copy, args=(one, other), daemon=True).start()


def _copy(source: socket.socket, target: socket.socket) -> None:
    try:
        while data := source.recv(65_536):
            target.sendall(data)
    except OSError:
        pass
    for end in (source, target):
        end.close()
