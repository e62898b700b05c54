"""The table of the families of messages: the one place where a new family is listed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from groupsim.protocol.basics import Api
from groupsim.protocol.wire.exchange import Directory, Exchange
from groupsim.protocol.wire.families import (
    acls,
    brokers,
    cluster_info,
    configs,
    consumer_groups,
    epochs,
    fetch,
    groups,
    list_offsets,
    logs,
    membership,
    offsets,
    produce,
    replicas,
    topics,
    transactions,
    writers,
)
from groupsim.protocol.wire.headers import Header
from groupsim.protocol.wire.serial import Fields

Reader: TypeAlias = Callable[[Fields, Header, Directory], Exchange]
"""Makes an exchange from the fields of a request; raises Unreadable where Kafka's own request classes refuse."""

_FAMILIES = (
    *(brokers, membership, consumer_groups, offsets, groups),
    *(produce, fetch, list_offsets, epochs, transactions),
    *(topics, configs, cluster_info, acls),
    *(replicas, logs, writers),
)

READERS: Mapping[Api, Reader] = {api: read for family in _FAMILIES for api, read in family.READERS.items()}
"""API → its reader. ApiVersions is absent: it is answered from the table of a release (`api_versions`)."""
