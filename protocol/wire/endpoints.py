"""The addresses of the leaders that an answer names (KIP-951), for clients that do not know them yet."""

from __future__ import annotations

from collections.abc import Iterable

from groupsim.protocol.messages.data import LeaderIs
from groupsim.protocol.wire.exchange import Directory
from groupsim.protocol.wire.serial import Fields


def endpoints(leaders: Iterable[LeaderIs], directory: Directory) -> list[Fields]:
    """Return one entry for each leader, in the order in which they are first named."""
    found = []
    for node in dict.fromkeys(leader.leader for leader in leaders if leader.leader >= 0):
        host, port = directory.address(node)
        if port >= 0:
            found.append({"node_id": node, "host": host, "port": port, "rack": directory.rack(node)})
    return found
