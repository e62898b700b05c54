"""Brokers list the requests of the consumer protocol while its stories are played.

A broker here lists ConsumerGroupHeartbeat once its coordinator answers it (`releases.NOT_SERVED`). In these stories the
scripted coordinator does.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from groupsim.protocol.messages import releases
from groupsim.protocol.wire import apis

_CACHED = (releases.broker_versions, releases.client_version, apis.served, apis.taken, apis.api_table)


@contextmanager
def offered() -> Iterator[None]:
    """List them, and finalize group.version 1, until the block ends."""
    nothing: frozenset[object] = frozenset()
    with patch.object(releases, "NOT_SERVED", nothing), patch.object(apis, "NOT_SERVED", nothing):
        _forget()
        try:
            yield
        finally:
            _forget()


def _forget() -> None:
    for table in _CACHED:
        table.cache_clear()
