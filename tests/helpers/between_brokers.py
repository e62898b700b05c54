"""The APIs that no broker lists to a client: they pass between brokers and controller, or to ZooKeeper."""

from groupsim.protocol.basics import Api

BETWEEN_BROKERS = frozenset(
    {Api.ALTER_PARTITION, Api.BROKER_REGISTRATION, Api.BROKER_HEARTBEAT, Api.METADATA_LOG, Api.ZOOKEEPER}
)
