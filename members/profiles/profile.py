"""The profile of a client library: all its differences from other libraries.

A simulated consumer reads the profile only; no module tests for a library's name. Differences by subject are in the
rows of a profile (`row_types.py`), those of threads and timing in its pace (`pace.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, TypeAlias

from attrs import Factory, evolve, has

from groupsim.eventloop.units import MS_US
from groupsim.members.profiles.defects import Defect, client_defect
from groupsim.members.profiles.pace import HEARTBEAT_THREAD, Pace
from groupsim.members.profiles.reactions import JAVA, OTHERWISE, Reaction, Table
from groupsim.members.profiles.row_types import (
    CallbackRow,
    CommitRow,
    ConsumerProtocolRow,
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
from groupsim.protocol.values import frozen


class OnError(StrEnum):
    """The application's reaction to an exception out of poll."""

    STOP = "stop"  # the process ends: consumer closed, error reported
    RETRY = "retry"  # log it, wait `error_pause`, poll again (as Spring's container), but end when fenced
    RETRY_ALL = "retry-all"  # poll again in any case: a fenced member joins again under its instance id


class RebalanceTimeout(StrEnum):
    """The rebalance timeout that a library sends."""

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
    """The base of a library's timeout for a request that may be parked."""

    REBALANCE = "its rebalance timeout"
    SESSION = "session.timeout.ms"
    NOTHING = "0"


@frozen
class ParkedTimeout:
    """A library's timeout for a request that the coordinator may park: a base and a slack."""

    base: ParkedBase
    slack_ms: int = 0
    bound: RequestBound = RequestBound.NONE


@frozen
class ErrorLoop:
    """Reaction of a library's usual application to an exception out of poll: the default of `on-error`.

    The pause doubles with each failure in a row, up to the longest one; `because` explains the policy.
    """

    policy: OnError
    because: str
    first_pause_ms: int = 1_000
    longest_pause_ms: int = 1_000

    def pause_us(self, failures: int) -> int:
        """Return the wait before the next poll after so many failures in a row."""
        longer = min(failures - 1, 32)
        return min(self.first_pause_ms << longer, self.longest_pause_ms) * MS_US


#: `poll` throws, and an application without a handler ends.
ENDS = ErrorLoop(OnError.STOP, "throws it out of `poll()`, or of what it calls that")
#: The Java consumer since 2.0 (KIP-266, KAFKA-7050): max(request.timeout.ms, rebalance timeout + 5 s).
JAVA_PARKED: Mapping[Api, ParkedTimeout] = {
    Api.JOIN_GROUP: ParkedTimeout(ParkedBase.REBALANCE, 5_000, RequestBound.AT_LEAST)
}


@frozen
class SettingName:
    """A library's own name for one of Kafka's keys; a value times `factor` is Kafka's (seconds: 1000)."""

    key: str
    factor: int = 1


@frozen
class ClientProfile:
    """One library of one age. Times are milliseconds; keys of `defaults` are Kafka's names."""

    name: str
    title: str
    client_id: str
    defaults: Mapping[str, object]
    versions: Mapping[Api, int]  #: the newest version that it supports, by API
    pace: Pace = HEARTBEAT_THREAD  #: threads and timing
    rebalance_timeout: RebalanceTimeout = RebalanceTimeout.MAX_POLL
    #: Timeouts of requests that a coordinator may park; others have request.timeout.ms.
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
    consumer_protocol: ConsumerProtocolRow = Factory(ConsumerProtocolRow)
    reactions: Mapping[Api, Table] = {}
    setting_names: Mapping[str, SettingName] = {}
    error_loop: ErrorLoop = ENDS
    #: The group protocols that the library has.
    protocols: tuple[str, ...] = ("classic",)
    defects: frozenset[Defect] = frozenset()
    #: The requested release, where it is not the profile's name: logs have its words.
    release: str = ""

    def reaction(self, api: Api, error: ErrorCode) -> Reaction:
        """Return this library's reaction to `error` in an answer to `api`."""
        return self.reactions.get(api, {}).get(error) or JAVA[api].get(error, OTHERWISE[api])

    def but(self, **changes: object) -> ClientProfile:
        """Return the profile with changes: `but(leaving={"on_close": False})` changes one field of a row.

        Raises TypeError for an unknown field.
        """
        values = {name: self._changed(name, value) for name, value in changes.items()}
        return evolve(self, **values)  # type: ignore[arg-type]

    def _changed(self, name: str, value: object) -> object:
        before: Any = getattr(self, name, None)
        is_part = isinstance(value, Mapping) and has(type(before))
        return evolve(before, **value) if is_part else value  # type: ignore[arg-type]

    def with_defects(self, names: Iterable[str]) -> ClientProfile:
        """Return the profile with defects by name. Raises ValueError for an unknown name."""
        profile = self
        for name in names:
            found = client_defect(name)
            reactions = {api: {**profile.reactions.get(api, {}), **table} for api, table in found.reactions.items()}
            defects = profile.defects if reactions else profile.defects | {Defect(name)}
            profile = evolve(profile, defects=defects, reactions={**profile.reactions, **reactions})
        return profile


#: A row of a table of profiles: name of the base profile, title, differences.
ProfileRow: TypeAlias = tuple[str, str, Mapping[str, object]]


def defaults_of(text: str) -> dict[str, object]:
    """Parse a library's defaults, in Kafka's names: `session.timeout.ms=45_000 isolation.level=read_committed`."""
    pairs = (pair.split("=") for pair in text.split())
    return {key: int(value) if value[0].isdigit() else value for key, value in pairs}


def setting_names(text: str) -> dict[str, SettingName]:
    """Parse a library's names: `clientId=client.id`, or `socket_timeout=request.timeout.ms*1000` with a factor."""
    names = (re.split("[=*]", name) for name in text.split())
    return {own: SettingName(key, *map(int, factor)) for own, key, *factor in names}
