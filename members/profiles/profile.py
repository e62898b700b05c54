"""What a client library's profile says: the answers to everything that libraries do differently.

A simulated consumer asks the profile and nothing else; no module tests for a name. What differs by subject is in the
rows of a profile (`row_types.py`), what differs in time and threads in its pace (`pace.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, TypeAlias

from attrs import Factory, evolve, frozen, has

from groupsim.eventloop.units import MS_US
from groupsim.members.profiles.defects import Defect, client_defect
from groupsim.members.profiles.pace import HEARTBEAT_THREAD, Pace
from groupsim.members.profiles.reactions import JAVA, OTHERWISE, Reaction, Table
from groupsim.members.profiles.row_types import (
    CallbackRow,
    CommitRow,
    CoordinatorRow,
    HeartbeatRow,
    LeaderRow,
    LeavingRow,
    PollLimitRow,
    PositionRow,
    ReportRow,
    RetryRow,
    SubscriptionRow,
)
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import Api


class OnError(StrEnum):
    """What the application does with an exception out of poll."""

    STOP = "stop"  # the process ends: consumer closed, error reported
    RETRY = "retry"  # log it, wait `error_pause`, poll again (as Spring's container), but end when fenced
    RETRY_ALL = "retry-all"  # poll again whatever it was: one that was fenced joins again under its instance id


class RebalanceTimeout(StrEnum):
    """What a library sends as rebalance timeout."""

    MAX_POLL = "max.poll.interval.ms"
    SESSION = "session.timeout.ms"
    OWN = "rebalance.timeout.ms"
    UNSENT = "nothing (JoinGroup v0: the broker takes the session timeout)"


class RequestBound(StrEnum):
    """How request.timeout.ms bounds the timeout of a request that may be parked."""

    NONE = "not at all"
    AT_LEAST = "the timeout is never shorter"
    AT_MOST = "the timeout is never longer"


class ParkedBase(StrEnum):
    """The timeout that a library begins with for a request that may be parked."""

    REBALANCE = "its rebalance timeout"
    SESSION = "session.timeout.ms"
    NOTHING = "0"


@frozen
class ParkedTimeout:
    """How long a library waits for the answer to a request that the coordinator may park: a base and a slack."""

    base: ParkedBase
    slack_ms: int = 0
    bound: RequestBound = RequestBound.NONE


@frozen
class ErrorLoop:
    """What the usual application of a library does after an exception out of poll: the default of `on-error`.

    The pause doubles with each failure in a row, up to the longest one; `because` says where that comes from.
    """

    policy: OnError
    because: str
    first_pause_ms: int = 1_000
    longest_pause_ms: int = 1_000

    def pause_us(self, failures: int) -> int:
        """The wait before the next poll after so many failures in a row."""
        longer = min(failures - 1, 32)
        return min(self.first_pause_ms << longer, self.longest_pause_ms) * MS_US


#: `poll` throws, and an application without a handler of its own ends.
ENDS = ErrorLoop(OnError.STOP, "throws it out of `poll()`, or of what it calls that")
#: The Java consumer since 2.0 (KIP-266, KAFKA-7050): max(request.timeout.ms, rebalance timeout + 5 s).
JAVA_PARKED: Mapping[Api, ParkedTimeout] = {
    Api.JOIN_GROUP: ParkedTimeout(ParkedBase.REBALANCE, 5_000, RequestBound.AT_LEAST)
}


@frozen
class SettingName:
    """A library's own name for one of Kafka's keys; its numbers times `factor` are Kafka's (seconds: 1000)."""

    key: str
    factor: int = 1


@frozen
class ClientProfile:
    """One library of one age. Times are milliseconds; keys of `defaults` are Kafka's names."""

    name: str
    title: str
    client_id: str
    defaults: Mapping[str, object]
    versions: Mapping[Api, int]  #: the newest version of each API that it speaks
    pace: Pace = HEARTBEAT_THREAD  #: what it sees to by itself, and what waits for `poll`
    rebalance_timeout: RebalanceTimeout = RebalanceTimeout.MAX_POLL
    #: Timeouts of requests that a coordinator may park; a request without an entry has request.timeout.ms.
    parked: Mapping[Api, ParkedTimeout] = JAVA_PARKED
    subscription: SubscriptionRow = Factory(SubscriptionRow)
    leader: LeaderRow = Factory(LeaderRow)
    heartbeats: HeartbeatRow = Factory(HeartbeatRow)
    poll_limit: PollLimitRow = Factory(PollLimitRow)
    coordinator: CoordinatorRow = Factory(CoordinatorRow)
    retries: RetryRow = Factory(RetryRow)
    callbacks: CallbackRow = Factory(CallbackRow)
    leaving: LeavingRow = Factory(LeavingRow)
    commits: CommitRow = Factory(CommitRow)
    positions: PositionRow = Factory(PositionRow)
    reports: ReportRow = Factory(ReportRow)
    reactions: Mapping[Api, Table] = {}
    setting_names: Mapping[str, SettingName] = {}
    error_loop: ErrorLoop = ENDS
    defects: frozenset[Defect] = frozenset()
    #: The release that was asked for, where it is not the profile's name: logs have its words.
    release: str = ""

    def reaction(self, api: Api, error: ErrorCode) -> Reaction:
        """What this library does when `api` is answered with `error`."""
        return self.reactions.get(api, {}).get(error) or JAVA[api].get(error, OTHERWISE[api])

    def but(self, **changes: object) -> ClientProfile:
        """Return the profile with other values: `but(leaving={"on_close": False})` changes one field of a row.

        Raises TypeError for a field that there is not.
        """
        values = {name: self._changed(name, value) for name, value in changes.items()}
        return evolve(self, **values)  # type: ignore[arg-type]

    def _changed(self, name: str, value: object) -> object:
        before: Any = getattr(self, name, None)
        is_part = isinstance(value, Mapping) and has(type(before))
        return evolve(before, **value) if is_part else value  # type: ignore[arg-type]

    def with_defects(self, names: Iterable[str]) -> ClientProfile:
        """Return the profile with defects by name. Raises ValueError for a name that no client's defect has."""
        profile = self
        for name in names:
            found = client_defect(name)
            reactions = {api: {**profile.reactions.get(api, {}), **table} for api, table in found.reactions.items()}
            defects = profile.defects if reactions else profile.defects | {Defect(name)}
            profile = evolve(profile, defects=defects, reactions={**profile.reactions, **reactions})
        return profile


#: A profile as a row of a table: the name of the profile that it differs from, its title, what differs.
ProfileRow: TypeAlias = tuple[str, str, Mapping[str, object]]


def defaults_of(text: str) -> dict[str, object]:
    """Read a library's defaults, in Kafka's names: `session.timeout.ms=45_000 isolation.level=read_committed`."""
    pairs = (pair.split("=") for pair in text.split())
    return {key: int(value) if value[0].isdigit() else value for key, value in pairs}


def setting_names(text: str) -> dict[str, SettingName]:
    """Read a library's names: `clientId=client.id`, or `socket_timeout=request.timeout.ms*1000` with a factor."""
    names = (re.split("[=*]", name) for name in text.split())
    return {own: SettingName(key, *map(int, factor)) for own, key, *factor in names}
