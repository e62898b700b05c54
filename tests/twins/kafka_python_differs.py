"""Where the simulated kafka-python does something else than the real one, and is left so: by release, with a reason."""

from __future__ import annotations

from collections.abc import Mapping

_PARTNER = "the partner hears of it sooner: the real client takes its time before it joins"
_ORDER = "topics are in the order of a set of Python's"
_METADATA = "a leader asks for metadata when it assigns, so that the next look comes later"
_BLOCKS = "a poll that joins, or looks for the coordinator, is not left before it has"
_CLOSE = "close and unsubscribe wait for the heartbeat's thread, which may sleep for retry.backoff.ms once more"
_SHORT_POLLS = "a pause ends with the poll that it falls into, and with short polls it joins twice at first"

_BOTH: Mapping[str, str] = {
    "a member that follows": _PARTNER,
    "the leader goes": _PARTNER,
    "the connection breaks under a parked join": _PARTNER,
    "the subscription changes": _ORDER,
    "a topic appears that the pattern matches": _ORDER,
    "a topic gets more partitions": _METADATA,
    "a pattern matches nothing at first": _METADATA,
    "a member that closes in a parked join": _BLOCKS,
    "a member that closes while the coordinator is lost": _BLOCKS,
    "the application is away while the coordinator is lost": "its thread looks for the coordinator half as often",
}
OF_2_0: Mapping[str, str] = {
    **_BOTH,
    "a quiet member that closes": _CLOSE,
    "a member that unsubscribes and comes back": _CLOSE,
}
OF_2_3: Mapping[str, str] = {
    **_BOTH,
    "heartbeats are not answered for a session": "its thread looks at the session every heartbeat.interval.ms only",
    "a member that closes when told of a rebalance": _SHORT_POLLS,
    "the application is away for too long": _SHORT_POLLS,
    "the application is away for a rebalance": _SHORT_POLLS,
}
