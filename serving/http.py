"""The control port's HTTP server: hypercorn on the loop's own trio, behind a socket that was bound beforehand."""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable
from typing import Any

from hypercorn.config import Config
from hypercorn.logging import Logger
from hypercorn.trio import serve

_BACKLOG = 100
IDLE_S = 5.0
"""The longest time without a whole request head, from the begin of a connection or from the last answer."""


class _Silent(Logger):  # type: ignore[misc]
    """Silences hypercorn: answers and the cluster's log contain everything."""

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self.access_logger = self.error_logger = None


def bound(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 takes a free one. Raises OSError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, port))
        made.listen(_BACKLOG)
    except BaseException:
        made.close()
        raise
    return made


async def answer(app: Any, listening: socket.socket, until: Callable[[], Awaitable[None]]) -> None:
    """Serve until `until` returns; the socket is closed then. Requests under way get a second to end."""
    config = Config()
    config.bind = [f"fd://{listening.detach()}"]
    config.graceful_timeout = 1.0
    config.keep_alive_timeout = IDLE_S
    config.include_server_header = False
    config.logger_class = _Silent
    config.accesslog = config.errorlog = None
    config.h11_max_incomplete_size = 64 * 1024
    config.backlog = _BACKLOG
    await serve(app, config, shutdown_trigger=until, mode="asgi")
