"""The newest version of each API that a client library supports, one row for each profile.

Sources. Java: the `validVersions` of the messages in 2.8.2, 3.1.2, 3.2.3, 3.3.2, 3.5.2, 3.7.1 and 4.4.0; for 0.10
JoinGroup and SyncGroup as 0.10.2.2 sent them (tests/twins/old_scenes.py), its others as in its Protocol.java.
librdkafka: as 1.7.0, 1.8.2, 1.9.0 and 2.0.2 sent them. Others: their sources (of sarama `consumer_group.go` and
`offset_manager.go`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from groupsim.protocol.messages.group import Api

_APIS: Final = (
    Api.JOIN_GROUP,
    Api.SYNC_GROUP,
    Api.HEARTBEAT,
    Api.LEAVE_GROUP,
    Api.OFFSET_COMMIT,
    Api.OFFSET_FETCH,
    Api.FIND_COORDINATOR,
    Api.METADATA,
    Api.FETCH,
    Api.LIST_OFFSETS,
    Api.OFFSET_FOR_LEADER_EPOCH,
    Api.CONSUMER_GROUP_HEARTBEAT,
)
# fmt: off
#: By profile, in the order of `_APIS`; a shorter row belongs to a library that does not send the last ones.
_ROWS: Final[Mapping[str, tuple[int, ...]]] = {
    #                  join sync beat leave commit committed find metadata fetch offsets epochs consumer
    "java-0.9":         (0, 0, 0, 0, 2, 1, 0, 0, 1, 0),
    "java-0.10":        (1, 0, 0, 0, 2, 2, 0, 2, 3, 1),
    "java-0.11":        (2, 1, 1, 1, 3, 3, 1, 4, 5, 2),
    "java-2.0":         (3, 2, 2, 2, 4, 4, 2, 6, 8, 3, 1),
    "java-2.2":         (4, 2, 2, 2, 6, 5, 2, 7, 10, 5, 2),
    "java-2.3":         (5, 3, 3, 2, 7, 5, 2, 8, 11, 5, 3),
    "java-2.4":         (6, 4, 4, 4, 8, 6, 3, 9, 11, 5, 3),
    "java-2.8":         (7, 5, 4, 4, 8, 7, 3, 11, 12, 6, 4),
    "java-3.1":         (7, 5, 4, 4, 8, 8, 4, 12, 13, 7, 4),
    "java-3.2":         (9, 5, 4, 5, 8, 8, 4, 12, 13, 7, 4),
    "java-3.3":         (9, 5, 4, 5, 8, 8, 4, 12, 13, 7, 4),
    "java-3.4":         (9, 5, 4, 5, 8, 8, 4, 12, 13, 7, 4),
    "java-3.5":         (9, 5, 4, 5, 8, 8, 4, 12, 15, 8, 4),
    "java-3.7":         (9, 5, 4, 5, 9, 9, 4, 12, 16, 8, 4),
    "java-3.9":         (9, 5, 4, 5, 9, 9, 6, 12, 17, 9, 4),
    "java-4.0":         (9, 5, 4, 5, 9, 9, 6, 13, 17, 10, 4, 1),
    "java-4.1":         (9, 5, 4, 5, 9, 9, 6, 13, 17, 10, 4, 1),
    "java-4.2":         (9, 5, 4, 5, 9, 9, 6, 13, 17, 10, 4, 1),
    "java-4.3":         (9, 5, 4, 5, 9, 9, 6, 13, 17, 10, 4, 1),
    "java-4.x":         (9, 5, 4, 5, 9, 9, 6, 13, 17, 10, 4, 1),
    "librdkafka-1.x":   (5, 3, 3, 1, 7, 1, 2, 2, 11, 1),
    "librdkafka-1.9":   (5, 3, 3, 1, 7, 7, 2, 4, 11, 2),
    "librdkafka-2.x":   (5, 3, 3, 1, 9, 9, 2, 12, 16, 7, 2),
    "librdkafka-2.12":  (5, 3, 3, 1, 9, 9, 2, 12, 16, 7, 2, 1),
    "librdkafka-2.15":  (5, 3, 3, 1, 9, 9, 2, 12, 16, 7, 2, 1),
    "brod":             (0, 0, 0, 0, 2, 1, 0, 1, 11, 2),
    "kafka-python-1.3": (0, 0, 0, 0, 2, 1, 0, 1, 3, 1),
    "kafka-python-1.4": (2, 1, 1, 1, 2, 1, 0, 1, 4, 1),
    "kafka-python-2.x": (2, 1, 1, 1, 2, 1, 0, 1, 4, 1),
    "kafka-python-2.3": (5, 3, 3, 3, 7, 5, 2, 8, 10, 5),
    "kafka-python-3.x": (7, 5, 4, 5, 8, 8, 6, 8, 10, 5),
    "kafkajs":          (5, 3, 3, 3, 5, 4, 2, 6, 11, 3),
    "sarama-1.33":      (1, 0, 0, 0, 2, 1, 0, 5, 11, 1),
    "sarama":           (5, 3, 3, 3, 7, 7, 2, 10, 11, 4),
    "franz-go":         (9, 5, 4, 5, 9, 9, 6, 12, 17, 10, 4, 1),
    "aiokafka":         (5, 3, 1, 1, 3, 3, 1, 5, 4, 3),
    "ruby-kafka":       (1, 0, 0, 0, 2, 1, 0, 1, 4, 1),
}
# fmt: on

VERSIONS: Final[Mapping[str, Mapping[Api, int]]] = {
    name: dict(zip(_APIS, row, strict=False)) for name, row in _ROWS.items()
}
