"""The process of 0.8's high-level consumer, with the interface of `Consumer`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, cast

from groupsim.eventloop.trace.events import Kind
from groupsim.members.classic.membership import ClassicMembership
from groupsim.members.classic.ownership import Ownership
from groupsim.members.consumer.consumer import FAILED, STOPPED, Consumer
from groupsim.members.failures import ClientFailure
from groupsim.members.fetch.positions import Fetcher
from groupsim.members.member import Member
from groupsim.members.subscription import Pattern, Topics
from groupsim.members.zookeeper.connector import Connector
from groupsim.members.zookeeper.fetchers import FromZookeeper, LightFromZookeeper, PullFromZookeeper
from groupsim.members.zookeeper.paths import Registration
from groupsim.members.zookeeper.session import SessionLink
from groupsim.members.zookeeper.settings import ZookeeperSettings
from groupsim.protocol.messages.zookeeper import ZOOKEEPER_NODE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from groupsim.members.membership import Membership
    from groupsim.protocol.messages.group import TopicPartition

PURPOSE = "zookeeper"


class ZookeeperConsumer(Consumer):
    """One process. Its settings are `ZookeeperSettings`; ZooKeeper is node 2181 of the transport."""

    _connector: Connector | None = None

    @property
    def state(self) -> str:
        """UNREGISTERED, REGISTERED, REBALANCING, CONSUMING; or NOT_STARTED, STOPPED, CRASHED, FAILED."""
        connector = self._connector
        return super().state if self._member is None or connector is None else connector.state

    @property
    def heartbeats(self) -> int:
        """Number of pings that ZooKeeper has answered."""
        connector = self._connector
        return self._quiet_before + (0 if connector is None else connector.session.pings)

    def _fetcher_of(self, member: Member) -> Fetcher:
        return PullFromZookeeper(member) if self._data is None else LightFromZookeeper(member, self._data)

    def _membership_of(self, member: Member, ownership: Ownership) -> Membership:
        """Make a membership that never joins: the connector rebalances."""
        made = ClassicMembership(member, ownership)
        made.rebalance.rejoin_needed = False
        return made

    def _launch(self, member: Member) -> None:
        self._start_task(member)

    async def _live(self, member: Member, failure: ClientFailure | None = None) -> None:
        connector = self._connector = self._connect(member)
        try:
            if self._data is None:
                member.metadata.refresh()
            await connector.run()
            member.trace.begin(self._close_cause)
        except ClientFailure as failure:
            self.failed = failure
            member.closing = True
            member.trace.begin(member.emit(Kind.PROCESS_FAILED, error=failure.error, reason=failure.reason))
        await connector.shut_down()
        if self.failed is None:
            member.emit(Kind.PROCESS_STOPPED, reason="closed")
        self._over(STOPPED if self.failed is None else FAILED)
        self.host.crash()

    def _connect(self, member: Member) -> Connector:
        settings, subscription = cast(ZookeeperSettings, self.settings), self._subscription
        registration = Registration()
        if isinstance(subscription, Topics):
            registration = Registration(tuple(sorted(subscription.names)))
        elif isinstance(subscription, Pattern):
            registration = Registration(pattern=subscription.text)

        def connect() -> SessionLink:
            link = self._transport.connect(self.host.name, settings.client_id, ZOOKEEPER_NODE, PURPOSE)
            return cast(SessionLink, link)

        return Connector(member, settings, registration, cast(FromZookeeper, member.fetcher), connect)

    def crash(self, reason: str = "killed") -> None:
        """Kill the process; its session lasts until ZooKeeper lets it expire."""
        if self._member is not None and self._connector is not None:
            self._connector.drop()
        super().crash(reason)

    def _over(self, state: str) -> None:
        pings = 0 if self._connector is None else self._connector.session.pings
        super()._over(state)
        self._quiet_before += pings
        self._connector = None

    # -- calls that 0.8 did not have ----------------------------------------------------------------------------

    def assign(self, partitions: Iterable[str | TopicPartition]) -> None:
        """Raise ValueError: the high-level consumer always joins its group."""
        self._cannot("choose its partitions")

    def _apply_subscription(self) -> None:
        if self._member is not None:
            self._cannot("change its subscription: message streams are created once")

    def enforce_rebalance(self, reason: str = "") -> None:
        """Raise ValueError: 0.8 had no such call."""
        self._cannot("ask for a rebalance")

    def block_heartbeats(self, us: int | str) -> None:
        """Raise ValueError: the session is ZooKeeper's."""
        self._cannot("starve a heartbeat thread that it does not have")

    def _cannot(self, what: str) -> NoReturn:
        raise ValueError(f"{self.host.name}: Kafka 0.8's high-level consumer cannot {what}; use a later client")

    def _start_payload(self) -> dict[str, Any]:
        return {**super()._start_payload(), "session_timeout_ms": self._zookeeper_session}

    @property
    def _zookeeper_session(self) -> int:
        return cast(ZookeeperSettings, self.settings).zookeeper_session_timeout_ms
