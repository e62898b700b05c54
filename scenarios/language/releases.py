"""Map the releases of a client library to the profile that runs them; some releases are refused.

A row holds from its first release on, until the next row. Three cases:

- the profile covers the release (`how` COVERED);
- no profile covers it, and it runs as the one named, which behaves alike as far as known (ALIKE, with `why`);
- it is known to behave differently, and is refused (DIFFERS, with `why`); the profile is the nearest one.

A member also has the defects of its release that the profile lacks (`members/profiles/defects.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from groupsim.members.profiles.defects import Version, version_of
from groupsim.protocol.values import frozen


class Coverage(StrEnum):
    """How well a profile represents a release."""

    COVERED = "covered"
    ALIKE = "runs as"
    DIFFERS = "refused"


@frozen
class Row:
    """The releases of a library from `first` on, and the profile that runs them."""

    first: str
    profile: str
    how: Coverage = Coverage.COVERED
    why: str = ""

    @property
    def version(self) -> Version:
        """Return the first release as numbers."""
        return version_of(self.first)


_ALIKE, _DIFFERS = Coverage.ALIKE, Coverage.DIFFERS

RELEASES: Mapping[str, tuple[Row, ...]] = {
    "java": (
        Row("0.9", "java-0.9"),
        Row("0.10.1", "java-0.10"),
        Row("0.11", "java-0.11"),
        Row("2.0", "java-2.0"),
        Row("2.2", "java-2.2"),
        Row("2.3", "java-2.3"),
        Row("2.4", "java-2.4"),
        Row("2.6.1", "java-2.8", _ALIKE, "it heartbeats while syncing, as 2.8 does (KAFKA-10134)"),
        Row("2.8", "java-2.8"),
        Row("3.0", "java-3.1"),
        Row("3.2", "java-3.2"),
        Row("3.3", "java-3.3"),
        Row("3.3.2", "java-3.2", _ALIKE, "it reverts KAFKA-13891, and 3.3 otherwise equals 3.2"),
        Row("3.4", "java-3.4"),
        Row("3.5", "java-3.5"),
        Row("3.7", "java-3.7"),
        Row("3.9", "java-3.9"),
        Row("4.0", "java-4.0"),
        Row("4.1", "java-4.1"),
        Row("4.2", "java-4.2"),
        Row("4.3", "java-4.3"),
        Row("4.4", "java-4.x"),
    ),
    "librdkafka": (
        Row(
            "0.11",
            "librdkafka-1.x",
            _DIFFERS,
            "before 1.0 max.poll.interval.ms is not enforced and the session timeout is sent as rebalance timeout",
        ),
        Row("1.0", "librdkafka-1.x"),
        Row("1.7", "librdkafka-1.9"),
        Row("2.1", "librdkafka-2.x", _ALIKE, "before 2.4 some of its requests are of older versions"),
        Row("2.4", "librdkafka-2.x"),
        Row("2.12", "librdkafka-2.12"),
        Row("2.15", "librdkafka-2.15"),
    ),
    "kafka-python": (
        Row("1.0", "kafka-python-1.3"),
        Row("1.4", "kafka-python-1.4"),
        Row("1.4.7", "kafka-python-2.x"),
        Row("2.1", "kafka-python-2.x", _ALIKE, "before 2.3 it adds only JoinGroup v3 and v4"),
        Row("2.3", "kafka-python-2.3"),
        Row("3.0", "kafka-python-3.x"),
    ),
    "aiokafka": (
        Row(
            "0.0",
            "aiokafka",
            _DIFFERS,
            "before 0.7 an error on another task resets the member id while it syncs (aiokafka 747)",
        ),
        Row("0.7", "aiokafka"),
    ),
    "kafkajs": (
        Row("0.0", "kafkajs", _DIFFERS, "before 1.14 offsets are not committed when a consumer stops (kafkajs 874)"),
        Row("1.14", "kafkajs", _ALIKE, "it joins, heartbeats and commits as 2.x does"),
        Row("2.0", "kafkajs"),
    ),
    "sarama": (
        Row("0.0", "sarama-1.33", _DIFFERS, "consumer groups came with sarama 1.19"),
        Row("1.19", "sarama-1.33"),
        Row("1.34", "sarama"),
    ),
    "franz-go": (
        Row("0.0", "franz-go", _ALIKE, "releases before 1.0 have not been compared"),
        Row("1.0", "franz-go"),
    ),
    "brod": (Row("0.0", "brod", _ALIKE, "releases of brod have not been compared"),),
    "ruby-kafka": (
        Row("0.0", "ruby-kafka", _ALIKE, "releases before 0.7 have not been compared"),
        Row("0.7", "ruby-kafka"),
    ),
}
"""Every library, its releases from the oldest on."""


def row_of(library: str, high: Version) -> Row | None:
    """Return the row of the newest release meant; None if every known release is newer."""
    found = [row for row in RELEASES[library] if row.version <= high]
    return found[-1] if found else None
