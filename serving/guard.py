"""Access to the control port.

On loopback every program on this machine has access, but no web page. The Host header reveals a page whose name
resolves to 127.0.0.1 (DNS rebinding), the Origin header one that posts across sites; browsers send it, the intended
tools do not. No CORS header is ever sent. On any other address, or when a token was set, every request needs the token,
whatever its Host.
"""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Mapping

from groupsim.serving.problems import Problem


def is_loopback(address: str) -> bool:
    """Whether an address to listen on is reachable from this machine only."""
    if address == "localhost":
        return True
    try:
        return ipaddress.ip_address(address.strip("[]")).is_loopback
    except ValueError:
        return False


def is_wildcard(address: str) -> bool:
    """Whether this address stands for all of the machine's."""
    try:
        return ipaddress.ip_address(address.strip("[]")).is_unspecified
    except ValueError:
        return address == ""


def check(headers: Mapping[str, str], token: str | None) -> None:
    """Let a request pass, or raise Problem: 401 without the token, 403 for a browser's."""
    if headers.get("sec-fetch-site", "none") not in ("none", "same-origin") or "origin" in headers:
        raise Problem(403, "not for web pages", "the request comes from a page of another site")
    if token is not None:
        _check_token(headers.get("authorization", ""), token)
    elif not is_loopback(_host_of(headers.get("host", ""))):
        detail = f"the Host header says {headers.get('host', 'nothing')!r}, and this port serves this machine only"
        raise Problem(403, "unknown host", detail, remedy="use http://127.0.0.1 or http://localhost")


def _check_token(header: str, token: str) -> None:
    scheme, _, given = header.partition(" ")
    if scheme.lower() != "bearer" or not hmac.compare_digest(given.strip().encode(), token.encode()):
        remedy = "send `Authorization: Bearer TOKEN`; the token is printed at the start and is in the ready file"
        raise Problem(401, "a token is needed" if not header else "this token is wrong", remedy=remedy)


def _host_of(header: str) -> str:
    """Return the name in a Host header, without the port."""
    if header.startswith("["):
        return header[1:].partition("]")[0]
    return header.partition(":")[0]
