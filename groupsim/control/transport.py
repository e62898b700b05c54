"""HTTP requests to the control port, over one connection that is reopened after an error."""

from __future__ import annotations

import json
import select
from collections.abc import Iterator, Mapping
from http.client import HTTPConnection, HTTPException, HTTPResponse, RemoteDisconnected
from typing import Any
from urllib.parse import urlencode, urlsplit

from groupsim.control.errors import ControlError, TimedOut, Unreachable

_GATEWAY_TIMEOUT = 504
_PATIENCE_S = 15 * 60  # above the longest wait that the port accepts


class Transport:
    """Requests to one control port. It is not thread-safe: use a `Control` per thread."""

    def __init__(self, url: str, token: str | None) -> None:
        parts = urlsplit(url)
        if parts.scheme != "http" or not parts.hostname or parts.path not in ("", "/"):
            raise ValueError(f"{url!r} is not an address of a control port: write http://127.0.0.1:9080")
        self.url = url.rstrip("/")
        self._at = (parts.hostname, parts.port or 80)
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._connection: HTTPConnection | None = None

    def json(self, method: str, path: str, query: Mapping[str, Any] | None = None, body: Any = None) -> Any:
        """Send a request and return its answer. Raises ControlError, TimedOut or Unreachable."""
        response = self._send(method, _with(path, query), body)
        try:
            content = response.read()
        except (OSError, HTTPException) as error:
            self.close()
            raise Unreachable(f"{self.url} broke off its answer to {method} {path}: {error}") from error
        if response.status >= 400:
            raise _error(response, content)
        return json.loads(content) if content else None

    def lines(self, path: str, query: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Send a request over its own connection, and return an iterator over the lines of the answer.

        Raises ControlError or Unreachable.
        """
        own = HTTPConnection(*self._at, timeout=_PATIENCE_S)
        try:
            own.request("GET", _with(path, query), headers=self._headers)
            response = own.getresponse()
            if response.status >= 400:
                raise _error(response, response.read())
        except (OSError, HTTPException) as error:
            own.close()
            raise Unreachable(f"no answer from {self.url}: {error}") from error
        except ControlError:
            own.close()
            raise
        return self._read(own, response, path)

    def _read(self, own: HTTPConnection, response: HTTPResponse, path: str) -> Iterator[dict[str, Any]]:
        try:
            for line in response:
                yield json.loads(line)
        except (OSError, HTTPException) as error:
            raise Unreachable(f"{self.url} broke off {path}: {error}") from error
        finally:
            response.close()
            own.close()

    def _send(self, method: str, path: str, body: Any) -> HTTPResponse:
        data = None if body is None else json.dumps(body).encode()
        headers = {**self._headers, **({} if data is None else {"Content-Type": "application/json"})}
        fresh = self._connection is None
        try:
            return self._exchange(method, path, data, headers)
        except (OSError, HTTPException) as error:
            self.close()
            if fresh or method != "GET":  # the port may have executed another request already
                raise Unreachable(self._unanswered(error)) from error
        try:
            return self._exchange(method, path, data, headers)
        except (OSError, HTTPException) as error:
            self.close()
            raise Unreachable(self._unanswered(error)) from error

    def _unanswered(self, error: Exception) -> str:
        """Return the message for a request without an answer."""
        words = f"no answer from {self.url}: {error or type(error).__name__}"
        return f"{words}; it may be a broker's port" if isinstance(error, RemoteDisconnected) else words

    def _exchange(self, method: str, path: str, data: bytes | None, headers: Mapping[str, str]) -> HTTPResponse:
        if self._connection is None or _ended(self._connection):
            self.close()
            self._connection = HTTPConnection(*self._at, timeout=_PATIENCE_S)
        self._connection.request(method, path, body=data, headers=dict(headers))
        return self._connection.getresponse()

    def close(self) -> None:
        """Close the connection; the next request opens another."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _ended(connection: HTTPConnection) -> bool:
    """Whether the port has closed an idle connection: its socket is readable without a request."""
    return connection.sock is not None and bool(select.select([connection.sock], [], [], 0)[0])


def _with(path: str, query: Mapping[str, Any] | None) -> str:
    given = {name: value for name, value in (query or {}).items() if value is not None}
    return f"{path}?{urlencode(given)}" if given else path


def _error(response: HTTPResponse, content: bytes) -> ControlError:
    try:
        problem = json.loads(content)
    except ValueError:
        problem = {"title": response.reason, "detail": content.decode(errors="replace")}
    problem.setdefault("status", response.status)
    return (TimedOut if response.status == _GATEWAY_TIMEOUT else ControlError)(problem)
