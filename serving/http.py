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
"""How long a connection may stand without a whole request head, from its beginning or from the last answer."""


class _Silent(Logger):  # type: ignore[misc]
    """Hypercorn says nothing of its own: what there is to say stands in answers and in the cluster's log."""

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self.access_logger = self.error_logger = None


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 takes a free one. Raises OSError."""
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
