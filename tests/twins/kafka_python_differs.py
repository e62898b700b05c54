"""Where the simulated kafka-python does something else than the real one, and is left so: by release, with a reason."""

from __future__ import annotations

from collections.abc import Mapping

_PARTNER = "the partner hears of it sooner: the real client takes its time before it joins"
_ORDER = "topics are in the order of a set of Python's"
_METADATA = "a leader asks for metadata when it assigns, so that the next look comes later"
_BLOCKS = "a poll that joins, or looks for the coordinator, is not left before it has"
_CLOSE = "close and unsubscribe wait for the heartbeat's thread, which may sleep for retry.backoff.ms once more"
_SHORT_POLLS = "a pause ends with the poll that it falls into, and with short polls it joins twice at first"
_CONNECTS = "it connects again in its own time, tenths of a second sooner or later"
_THROWS = "a poll that reaches no broker throws, which the application does not live through"

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
    "the process stands still while another member goes on": _PARTNER,
    "every broker is away for longer than a session and it commits by itself": _CONNECTS,
}
OF_2_3: Mapping[str, str] = {
    **_BOTH,
    "the process stands still while it commits by itself": "its application commits before its thread looks around",
    "the process stands still while the application is away": _SHORT_POLLS,
    "heartbeats are not answered for a session": "its thread looks at the session every heartbeat.interval.ms only",
    "a member that closes when told of a rebalance": _SHORT_POLLS,
    "the application is away for too long": _SHORT_POLLS,
    "the application is away for a rebalance": _SHORT_POLLS,
    "every broker is away for less than a session": _CONNECTS,
    "every broker is away for longer than a session and it commits by itself": _CONNECTS,
}
_KEEPS_IT = "after a broken connection it goes back to the coordinator it knows, and asks for none"
_COOPERATES = "its cooperative subscription is of version 1, without data, and no callback comes for nothing"
_SENDS_NOTHING = "a commit in the callback of what is revoked sends nothing, and a callback that failed is called again"
_ITS_TIME = "it looks at the group in its own time, tenths of a second sooner or later"
_NOBODY = "nobody is called back when it unsubscribes"
OF_3_0: Mapping[str, str] = {
    "the connection breaks under a join": _KEEPS_IT,
    "the connection breaks under a parked join": _KEEPS_IT,
    "the connection breaks under a sync": _KEEPS_IT,
    "sync is not answered": _KEEPS_IT,
    "heartbeats are not answered for a session": _KEEPS_IT,
    "a rebalance comes with a cooperative member": _COOPERATES,
    "a cooperative member is expelled": _COOPERATES,
    "a commit before a cooperative rebalance is told of a load and fetches come back": _COOPERATES,
    "a commit before a cooperative rebalance is told of a load and nothing else comes": _COOPERATES,
    "positions are committed when somebody else joins a cooperative group": _COOPERATES,
    "a cooperative member's subscription changes": _COOPERATES,
    "somebody else joins a cooperative group": _COOPERATES,
    "a cooperative member that follows": _COOPERATES,
    "two pull at a cooperative group": _COOPERATES,
    "commit is told of a rebalance": _SENDS_NOTHING,
    "commit is told of a rebalance and ends": _SENDS_NOTHING,
    "commit without waiting is told of a rebalance": _SENDS_NOTHING,
    "commit is fenced": _SENDS_NOTHING,
    "commit is refused": _SENDS_NOTHING,
    "commit finds a server error": _SENDS_NOTHING,
    "a commit is not answered": _SENDS_NOTHING,
    "a member that closes before its commit is answered": _SENDS_NOTHING,
    "a heartbeat is told of a rebalance": _ITS_TIME,
    "a heartbeat with an id nobody knows": _ITS_TIME,
    "a heartbeat of an old generation": _ITS_TIME,
    "commit of an old generation": _ITS_TIME,
    "commit without waiting with an id nobody knows": _ITS_TIME,
    "positions are committed before a rebalance": _ITS_TIME,
    "a commit before a rebalance is told of it": _ITS_TIME,
    "a commit before an eager rebalance is told of another coordinator": _ITS_TIME,
    "a quiet member that closes": _ITS_TIME,
    "the application is away for too long": _ITS_TIME,
    "a rebalance with a pattern": _ITS_TIME,
    "a pattern matches nothing": _ITS_TIME,
    "a pattern matches nothing at first": _ITS_TIME,
    "the leader goes": _ITS_TIME,
    "somebody joins and goes": _ITS_TIME,
    "the process stands still for longer than the poll limit": "its heartbeats look at the limit before poll does",
    "the process stands still for longer than its session": _ITS_TIME,
    "the process stands still for longer than its session and the poll limit": _ITS_TIME,
    "the process stands still and is a static member": _ITS_TIME,
    "the process stands still while it commits by itself": _ITS_TIME,
    "a member that unsubscribes": _NOBODY,
    "a member that unsubscribes and comes back": _NOBODY,
    "a static member that unsubscribes": _NOBODY,
    "a heartbeat is fenced": "a fenced heartbeat is not thrown",
    "a commit before a rebalance is told of a load": "a commit before a rebalance is not tried again",
    "a member that closes in a parked join": _BLOCKS,
    "a member that closes while the coordinator is lost": _BLOCKS,
    "the application is away while the coordinator is lost": "a coordinator that was lost is looked for by poll alone",
    "the subscription changes": _ORDER,
    "a topic appears that the pattern matches": _ORDER,
    "a topic gets more partitions": _METADATA,
    "every broker is away for less than a session": _THROWS,
    "every broker is away when a session is over": _THROWS,
    "every broker is away for longer than a session": _THROWS,
    "every broker is away for longer than a session and it commits by itself": _THROWS,
    "somebody else joins a sticky group": "the user data of its sticky assignor begin with a version",
}
