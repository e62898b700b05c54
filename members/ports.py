"""The ports of a client's parts, foremost of its membership, to the process that they run in.

The inputs of a membership are its methods (`membership.py`), answers and timers. Its outputs go through these ports:
requests to the coordinator, timers and tasks of the host, the flag that `poll` waits for, trace events, and calls of
other parts. `Member` implements them; a membership uses nothing else of its client.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from groupsim.eventloop.interface import EventLoop, Host
    from groupsim.eventloop.randomness import Stream
    from groupsim.eventloop.trace.events import Kind
    from groupsim.eventloop.trace.trace import Trace
    from groupsim.members.backoff import Backoff
    from groupsim.members.behaviour import Behaviour
    from groupsim.members.failures import ClientFailure, PluginErrors
    from groupsim.members.generation import Generation
    from groupsim.members.interfaces import Transport
    from groupsim.members.membership import Membership
    from groupsim.members.parts import Commits, Connections, Coordinator, KnownTopics, Partitions, RecordSource
    from groupsim.members.profiles import ClientProfile
    from groupsim.members.profiles.pace import Pace
    from groupsim.members.settings import ConsumerSettings
    from groupsim.members.subscription import SubscriptionState
    from groupsim.members.wake import Wake
    from groupsim.protocol.messages.group import Api


class Ports(Protocol):
    """One process of one client; `Member` documents the methods."""

    # configuration
    group: str
    settings: ConsumerSettings
    profile: ClientProfile
    pace: Pace
    behaviour: Behaviour
    plugin_errors: PluginErrors
    request_timeout_us: int
    started_us: int

    # the membership, which all parts read
    state: StrEnum
    generation: Generation
    joined: Generation
    closing: bool

    # time, tasks and the trace
    loop: EventLoop
    host: Host
    trace: Trace
    wake: Wake
    on_network_event: Callable[[], None] | None

    # other parts
    transport: Transport
    coordinator: Coordinator
    subscription: SubscriptionState
    ownership: Partitions
    commits: Commits
    fetcher: RecordSource
    membership: Membership

    @property
    def links(self) -> Connections: ...
    @property
    def metadata(self) -> KnownTopics: ...
    @property
    def now_us(self) -> int: ...
    def wake_at(self, when_us: int) -> None: ...
    def become(self, state: StrEnum, reason: str | None = None) -> None: ...
    def fail(self, failure: ClientFailure) -> None: ...
    def version(self, api: Api) -> int: ...
    def report_error(self, error: str, reason: str) -> None: ...
    def stream_factory(self, purpose: str) -> Callable[[], Stream]: ...
    def backoff(self, purpose: str) -> Backoff: ...
    def succeeded(self, purpose: str) -> None: ...
    def emit(
        self,
        kind: Kind,
        *,
        topic: str | None = None,
        partition: int | None = None,
        api: str | None = None,
        correlation: int | None = None,
        error: str | None = None,
        from_: str | None = None,
        to: str | None = None,
        reason: str | None = None,
        span: int | None = None,
        payload: Mapping[str, Any] | None = None,
    ) -> int: ...
