"""The result of `Simulation.find`: a list of events that explains why it is empty."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.eventloop.trace.trace import Level
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import Api
from groupsim.testing.names import known

SHOWN = 8
_LOST = ("DISCONNECTED", "TIMED_OUT")  # in place of an error code, for a request without an answer
_REQUESTS = (Kind.REQUEST_SENT, Kind.REQUEST_RECEIVED)
_RESPONSES = (Kind.RESPONSE_SENT, Kind.RESPONSE_RECEIVED)

__tracebackhide__ = True  # an error is reported at the line of the test


def as_in_traces(asked: Mapping[str, object]) -> dict[str, object]:
    """Convert enumeration members to their form in events: `Api.SYNC_GROUP` to "SyncGroup", error codes to names."""
    return {name: _plain(value) for name, value in asked.items()}


def _plain(value: object) -> object:
    if isinstance(value, Api):
        return value.title
    return value.name if isinstance(value, ErrorCode) else value


def can_be(asked: Mapping[str, object], events: Iterable[TraceEvent], hosts: Iterable[str]) -> None:
    """Raise ValueError for a name that no event can have, so that no test passes because of a misspelling."""
    api, error, host = (asked.get(name) for name in ("api", "error", "host"))
    if api is not None:
        known(str(api), [one.title for one in Api], "API")
    if error is not None and not str(error).endswith(("Exception", "Error")):
        known(str(error), [*(code.name for code in ErrorCode), *_LOST, *_seen(events, "error")], "error code")
    if host is not None:
        known(str(host), [*hosts, *_seen(events, "host")], "host")


def _seen(events: Iterable[TraceEvent], column: str) -> Iterator[str]:
    yield from dict.fromkeys(value for event in events if (value := getattr(event, column)) is not None)


def are_listed(kind: Kind, asked: Mapping[str, object], level: Level) -> None:
    """Raise ValueError for successful heartbeats: they are counted and not listed, so that no search finds one."""
    counted = kind in _REQUESTS or (kind in _RESPONSES and asked.get("error", ...) is None)
    if counted and asked.get("api") == "Heartbeat" and level is not Level.FULL:
        raise ValueError(
            f"{kind.value} of Heartbeat: successful heartbeats are counted, not listed; use `member.heartbeats`, "
            'or list all of them: @pytest.mark.sim(level="full")'
        )


class Found(list[TraceEvent]):
    """Events in order. The repr of an empty list has the existing events of that kind, for a failed assertion."""

    def __init__(self, events: Iterable[TraceEvent], kind: Kind, asked: Mapping[str, object], of_kind: int) -> None:
        super().__init__(events)
        self._kind = kind
        self._asked = asked
        self._of_kind = of_kind
        self._others: Counter[tuple[object, ...]] = Counter()

    @classmethod
    def among(cls, events: Iterable[TraceEvent], kind: Kind, asked: Mapping[str, object]) -> Found:
        """Select the events of a kind whose columns have the given values."""
        of_kind = [event for event in events if event.kind is kind]
        found = cls(
            (one for one in of_kind if all(getattr(one, name) == value for name, value in asked.items())),
            kind,
            asked,
            len(of_kind),
        )
        if not found:
            found._others.update(tuple(getattr(one, name) for name in asked) for one in of_kind)
        return found

    def __repr__(self) -> str:
        if self:
            return super().__repr__()
        if not self._of_kind:
            return f"[] (there is no event {self._kind.value})"
        asked = ", ".join(f"{name}={value!r}" for name, value in self._asked.items())
        names = tuple(self._asked)
        others = [
            " ".join(f"{name}={value!r}" for name, value in zip(names, values, strict=True))
            + (f" ×{count}" if count > 1 else "")
            for values, count in self._others.most_common(SHOWN)
        ]
        more = ", …" if len(self._others) > SHOWN else ""
        return f"[] (none of {self._of_kind} {self._kind.value} has {asked}; there are: {', '.join(others)}{more})"
