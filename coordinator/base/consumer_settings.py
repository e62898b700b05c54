"""The coordinator's settings for groups of the consumer protocol (KIP-848): readers of lists and words, and checks.

The numbers are rows of `config.BROKER_KEYS` as any other. What differs: three settings are texts, the numbers come in
threes (a default of groups, and the bounds of what a group may set for itself), and each has a first release.

Asked of the released classes 4.0.0 to 4.4.0: names, defaults, bounds, and the errors of values and combinations.
Sources: `GroupCoordinatorConfig`, `KafkaConfig` (the list of protocols).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from groupsim.assignors.base.errors import AssignorError

GROUP_VERSION_SINCE: Final = (4, 0)
"""The first release that finalizes the feature `group.version` at 1: with 0 no group of the protocol can exist."""

PROTOCOLS_KEY: Final = "group.coordinator.rebalance.protocols"
CONSUMER: Final = "consumer"
"""The protocol of KIP-848, in the list of `group.coordinator.rebalance.protocols`."""
PROTOCOLS: Final = (CONSUMER, "classic", "share", "streams")
"""What `group.coordinator.rebalance.protocols` may name, in the order of Kafka's message."""

ASSIGNORS_KEY: Final = "group.consumer.assignors"
POLICY_KEY: Final = "group.consumer.migration.policy"
POLICIES: Final = ("disabled", "downgrade", "upgrade", "bidirectional")
"""What `group.consumer.migration.policy` may be, in the order of Kafka's message."""

_BOUNDED: Final = ("session.timeout.ms", "heartbeat.interval.ms", "assignment.interval.ms")


def read_policy(name: str, value: object) -> str:
    """Return the policy in small letters. Raises ValueError with Kafka's message."""
    text = str(value).strip()
    if text.lower() not in POLICIES:
        words = ", ".join(policy.upper() for policy in POLICIES)
        raise _invalid(name, text, f"String must be one of (case insensitive): {words}")
    return text.lower()


def read_protocols(name: str, value: object) -> tuple[str, ...]:
    """Return the protocols that brokers take. Raises ValueError with Kafka's messages."""
    found = read_list(name, value)
    for one in found:
        if one not in PROTOCOLS:
            raise _invalid(name, one, f"String must be one of: {', '.join(PROTOCOLS)}")
    if "classic" not in found:
        raise ValueError(f"{name}: Disabling the 'classic' protocol is not supported.")
    return found


def read_assignors(name: str, value: object) -> tuple[str, ...]:
    """Return the assignors as they are written, the default first.

    Raises ValueError: for a name that is no assignor of a broker, and for two of one name.
    """
    from groupsim.assignors.server.registry import server_assignors  # read where the key is set, which is rare

    found = read_list(name, value)
    try:
        server_assignors(found)
    except AssignorError as error:
        raise _invalid(name, error.assignor, error.problem) from error
    return found


def read_list(name: str, value: object) -> tuple[str, ...]:
    """Return the entries of a list, or of a text with commas; one that is there twice counts once, as in Kafka."""
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, Sequence):
        raise ValueError(f"{name} must be a list, or names with commas between them, not {value!r}")
    found = tuple(str(part).strip() for part in parts)
    if found in ((), ("",)):
        raise ValueError(f"{name} must not be empty")
    if "" in found:
        raise ValueError(f"{name} has an empty name: write names with one comma between them")
    return tuple(dict.fromkeys(found))


def conflicts(values: Mapping[str, int]) -> Iterator[str]:
    """Yield Kafka's message for each pair of settings that contradict each other; `values` has all by Kafka's names."""
    for what in _BOUNDED:
        own, low, high = (f"group.consumer.{part}{what}" for part in ("", "min.", "max."))
        for greater, lesser in ((high, low), (own, low)):
            if values[greater] < values[lesser]:
                yield _against(values, greater, "greater than or equal to", lesser)
        if values[own] > values[high]:
            yield _against(values, own, "less than or equal to", high)
    beat, session = "group.consumer.heartbeat.interval.ms", "group.consumer.session.timeout.ms"
    if values[beat] >= values[session]:
        yield _against(values, beat, "less than", session)


def _against(values: Mapping[str, int], one: str, relation: str, other: str) -> str:
    return f"{one} must be {relation} {other}, not {values[one]} beside {values[other]}: set both"


def _invalid(name: str, value: str, why: str) -> ValueError:
    return ValueError(f"Invalid value {value} for configuration {name}: {why}")
