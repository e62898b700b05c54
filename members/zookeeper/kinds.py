"""The clients that a scenario may name: the profiles of the group protocol, and 0.8's consumer without a coordinator.

Code that makes a consumer calls these functions for either kind. The modules of 0.8's consumer are imported at their
first use, because few runs need them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from groupsim.assignors.base.interface import Assignor
from groupsim.members.behaviour import Behaviour
from groupsim.members.consumer.consumer import Consumer, resolve_assignors
from groupsim.members.failures import PluginErrors
from groupsim.members.profiles import PROFILES, WITHOUT_DEFECTS, ClientProfile
from groupsim.members.profiles.pace import HEARTBEAT_THREAD
from groupsim.members.settings import ConsumerSettings, Note, settings_from
from groupsim.protocol.messages.group import Api

if TYPE_CHECKING:
    from groupsim.eventloop.interface import EventLoop
    from groupsim.members.interfaces import Data, Transport

#: Only the versions of Metadata, Fetch and ListOffsets in this profile have an effect.
ZOOKEEPER_0_8 = WITHOUT_DEFECTS["java-0.9"].but(
    name="zookeeper-0.8",
    title="Apache Kafka 0.8 high-level consumer: no coordinator, each member decides alone through ZooKeeper",
    client_id="{group}",
    versions={**WITHOUT_DEFECTS["java-0.9"].versions, Api.FETCH: 0},
    pace=HEARTBEAT_THREAD,
)

#: The clients by name and by alias.
CLIENTS: Mapping[str, ClientProfile] = {**PROFILES, ZOOKEEPER_0_8.name: ZOOKEEPER_0_8}


def uses_zookeeper(profile: ClientProfile) -> bool:
    """Whether a client needs ZooKeeper, and no group coordinator."""
    return profile.name == ZOOKEEPER_0_8.name


def client_settings(
    profile: ClientProfile, properties: Mapping[str, object], *, pulls: bool = False
) -> tuple[ConsumerSettings, tuple[Note, ...]]:
    """Resolve properties by the client's own rules. Raises SettingError for impossible values."""
    if not uses_zookeeper(profile):
        return settings_from(profile, properties, pulls=pulls)
    from groupsim.members.zookeeper.settings import zookeeper_settings

    return zookeeper_settings(profile, properties, pulls=pulls)


def consumer_for(
    loop: EventLoop,
    host_name: str,
    settings: ConsumerSettings,
    transport: Transport,
    data: Data | None,
    behaviour: Behaviour | None,
    profile: ClientProfile,
    *,
    plugin_errors: PluginErrors = PluginErrors.STOP,
    assignors: Callable[[ConsumerSettings], Sequence[Assignor]] = resolve_assignors,
) -> Consumer:
    """Make the process of a client. `assignors` replaces the assignors of its settings."""
    kind: type[Consumer] = Consumer
    if uses_zookeeper(profile):
        from groupsim.members.zookeeper.consumer import ZookeeperConsumer as kind
    return kind(
        loop, host_name, settings, transport, data, behaviour, profile, plugin_errors=plugin_errors, assignors=assignors
    )
