"""Defects of old brokers by name: the change that each makes to the coordinator, and its effect on a group.

A release has the defects that `versions.HISTORY` gives it. A defect may also be switched on by name for any release
(`broker: {defects: [KAFKA-9752]}`). docs/defects.md lists all of them with their releases.

Sources: the fixing commits in Apache Kafka's repository; affected releases follow from the tags that contain them.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches

from groupsim.protocol.values import frozen


@frozen
class BrokerDefect:
    """A defect of group coordinators: fields of `Differences` with their values, and the effect in one sentence."""

    name: str
    changes: Mapping[str, bool]
    effect: str


_ALL = (
    BrokerDefect(
        "KAFKA-4682",
        {"retention_from_empty": False},
        "Offsets expire by the age of their commit although their group is alive.",
    ),
    BrokerDefect(
        "KAFKA-6005",
        {"first_join_needs_protocols": False},
        "The first member may join without a protocol: its round never closes, though its client goes, and every other "
        "member is refused INCONSISTENT_GROUP_PROTOCOL.",
    ),
    BrokerDefect(
        "KAFKA-7610",
        {"new_member_timeout": False},
        "A new member whose client has gone stays as long as the round is open, without a limit.",
    ),
    BrokerDefect(
        "KAFKA-8653",
        {"join_v0_has_timeout": False},
        "Members that speak JoinGroup v0 give a round no time: it closes at once without the others, again and again.",
    ),
    BrokerDefect(
        "KAFKA-8715",
        {"static_ids_are_random": False},
        "Ids of static members are `<instance>-<time of the last change of state>`: two restarts of a Stable group's "
        "member have one id, so the older process is not fenced.",
    ),
    BrokerDefect(
        "KAFKA-9752",
        {"new_member_session": False},
        "A new member that dies before its SyncGroup is never removed: its session is not watched.",
    ),
    BrokerDefect(
        "KAFKA-9885",
        {"pending_ids_count": False},
        "`group.max.size` does not count members that were given an id and have yet to use it, so the group grows "
        "beyond it.",
    ),
    BrokerDefect(
        "KAFKA-10284",
        {"replacement_is_stored": False},
        "The new id of a static member that restarted is not written: after a fail-over the live process is fenced.",
    ),
    BrokerDefect(
        "KAFKA-10401",
        {"empty_since_is_loaded": False},
        "After a fail-over the offsets of an empty group count their retention from their commits, and expire early.",
    ),
    BrokerDefect(
        "KAFKA-12890",
        {"pending_sync_timer": False},
        "A member that heartbeats and never sends SyncGroup keeps its group in CompletingRebalance for ever.",
    ),
    BrokerDefect(
        "KAFKA-13636",
        {"expiry_waits_for_stable": False},
        "Old offsets of a group that has been empty expire in its next rebalance, before any member owns a partition.",
    ),
    BrokerDefect(
        "KAFKA-14009",
        {"timeouts_are_updated": False},
        "A member that joins again with another session or rebalance timeout keeps those of its first JoinGroup.",
    ),
    BrokerDefect(
        "KAFKA-16371",
        {"refused_offsets_end": False},
        "An offset refused for its metadata, beside one that was taken, counts as a commit under way: stable fetches "
        "hear UNSTABLE_OFFSET_COMMIT for its partition until the next commit.",
    ),
    BrokerDefect(
        "kafka-8662a022",
        {"loading_has_its_own_error": False},
        "During a load requests are answered NOT_COORDINATOR, so that clients look for the coordinator they have.",
    ),
)

#: Every defect of brokers by name.
BROKER_DEFECTS: Mapping[str, BrokerDefect] = {defect.name: defect for defect in _ALL}


def broker_defect(name: str) -> BrokerDefect:
    """Return a defect by name. Raises ValueError, with the nearest name, for an unknown one."""
    found = BROKER_DEFECTS.get(name)
    if found is None:
        near = get_close_matches(name.upper(), BROKER_DEFECTS, 1, 0.8)
        hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(BROKER_DEFECTS)}"
        raise ValueError(f"unknown broker defect {name!r}; {hint}")
    return found
