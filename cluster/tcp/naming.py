"""The name of a real client in the trace and for faults, and the purpose of its connection."""

from __future__ import annotations

from ipaddress import IPv4Address, ip_address
from typing import Final

from groupsim.protocol.basics import Api

_COORDINATOR: Final = (
    Api.JOIN_GROUP,
    Api.SYNC_GROUP,
    Api.HEARTBEAT,
    Api.LEAVE_GROUP,
    Api.CONSUMER_GROUP_HEARTBEAT,
    Api.OFFSET_COMMIT,
    Api.OFFSET_FETCH,
    Api.INIT_PRODUCER_ID,
    Api.ADD_PARTITIONS_TO_TXN,
    Api.ADD_OFFSETS_TO_TXN,
    Api.END_TXN,
    Api.TXN_OFFSET_COMMIT,
)
_DATA: Final = (Api.PRODUCE, Api.FETCH, Api.LIST_OFFSETS, Api.OFFSET_FOR_LEADER_EPOCH)
_ADMIN: Final = (
    Api.CREATE_TOPICS,
    Api.DELETE_TOPICS,
    Api.CREATE_PARTITIONS,
    Api.DESCRIBE_CONFIGS,
    Api.ALTER_CONFIGS,
    Api.INCREMENTAL_ALTER_CONFIGS,
    Api.LIST_CONFIG_RESOURCES,
    Api.DESCRIBE_CLUSTER,
    Api.DESCRIBE_GROUPS,
    Api.CONSUMER_GROUP_DESCRIBE,
    Api.LIST_GROUPS,
    Api.DELETE_GROUPS,
    Api.OFFSET_DELETE,
    Api.DESCRIBE_ACLS,
    Api.CREATE_ACLS,
    Api.DELETE_ACLS,
    Api.DESCRIBE_TOPIC_PARTITIONS,
    Api.ELECT_LEADERS,
    Api.ALTER_PARTITION_REASSIGNMENTS,
    Api.LIST_PARTITION_REASSIGNMENTS,
    Api.DELETE_RECORDS,
    Api.DESCRIBE_LOG_DIRS,
    Api.DESCRIBE_PRODUCERS,
    Api.LIST_TRANSACTIONS,
    Api.DESCRIBE_TRANSACTIONS,
    Api.WRITE_TXN_MARKERS,
)
_PURPOSES: Final = (
    dict.fromkeys(_COORDINATOR, "coordinator") | dict.fromkeys(_DATA, "data") | dict.fromkeys(_ADMIN, "admin")
)


def purpose_of(api: Api) -> str | None:
    """Return the purpose of a connection with this API; None for an API of any connection, such as Metadata."""
    return _PURPOSES.get(api)


def java_host(address: str) -> str:
    """Return an address as a broker prints a client's: "/127.0.0.1", "/0:0:0:0:0:0:0:1".

    An IPv4 address on an IPv6 socket ("::ffff:127.0.0.1") becomes an IPv4 address, as in Java: ACLs name hosts.
    """
    try:
        known = ip_address(address.partition("%")[0])
    except ValueError:
        return "/" + address
    of_four = known if isinstance(known, IPv4Address) else known.ipv4_mapped
    if of_four is not None:
        return f"/{of_four}"
    words = known.packed
    return "/" + ":".join(f"{words[at] << 8 | words[at + 1]:x}" for at in range(0, 16, 2))


_MAX_NAMES: Final = 100_000
_MAX_NAME_LENGTH: Final = 250
"""Longer client ids are cut: Kafka allows 32 KiB, and the server keeps names as long as it runs."""


class Names:
    """Names of client hosts: the client id, cut to length, with `#2` and so on for the same id from other addresses."""

    def __init__(self) -> None:
        self._addresses: dict[str, dict[str, str]] = {}
        self._known = 0

    def of(self, client_id: str, address: str) -> str:
        """Return a client's name: its address without a client id; without a number beyond the limit of names."""
        if not client_id:
            return address
        client_id = client_id[:_MAX_NAME_LENGTH]
        addresses = self._addresses.get(client_id)
        name = None if addresses is None else addresses.get(address)
        if name is not None:
            return name
        if self._known >= _MAX_NAMES:
            return client_id
        self._known += 1
        addresses = self._addresses.setdefault(client_id, {})
        name = addresses[address] = client_id if not addresses else f"{client_id}#{len(addresses) + 1}"
        return name
