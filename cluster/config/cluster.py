"""The configuration of a cluster, with settings under Kafka's names.

Each setting belongs to the part that it configures: the coordinators of groups and of transactions, the controller
and its agents at the brokers, the replicas, the logs. `from_properties` finds the part by the setting's name, so it
accepts a broker's properties.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from difflib import get_close_matches
from itertools import chain
from pathlib import Path
from typing import Any, Final

from attrs import evolve, field, fields, validators

from groupsim.cluster.config import acl
from groupsim.cluster.config.acl import AclConfig
from groupsim.cluster.config.controller import ControllerConfig
from groupsim.cluster.config.counted import CountedConfig
from groupsim.cluster.config.loading_cost import LoadingCost
from groupsim.cluster.config.log import BROKER_SETTINGS, broker_defaults, topic_config
from groupsim.cluster.config.replica import ReplicaConfig
from groupsim.cluster.config.transactions import KEYS as TRANSACTION_KEYS
from groupsim.cluster.config.transactions import TransactionConfig
from groupsim.coordinator.base.config import BROKER_KEYS, LEFT_OUT, CoordinatorConfig
from groupsim.eventloop.distributions import Distribution, parse_distribution
from groupsim.protocol.values import frozen

_INTEGERS: Final = (int, "int")
_FLAGS: Final = (bool, "bool")
_OWN_OF_CONTROLLER: Final = frozenset(
    {
        "session_check_ms",
        "fenced_sessions_count",
        "eligible_leader_replicas",
        "epoch_for_shrink",
        "default_replication_factor",  # the cluster passes its own to the controller
    }
)
_OWN_OF_REPLICA: Final = frozenset({"min_isr_commits"})
_CLUSTER: Final[Mapping[str, str]] = {
    "offsets.topic.replication.factor": "offsets_replication_factor",
    "offsets.topic.segment.bytes": "offsets_segment_bytes",
    "default.replication.factor": "default_replication_factor",
    "auto.create.topics.enable": "auto_create_topics_enable",
}
_ACL: Final = {acl.AUTHORIZER: "authorizer", acl.SUPER_USERS: "super_users", acl.ALLOW_EVERYONE: "allow_everyone"}
_AUTO_CREATE: Final = "auto.create.topics.enable"
COUNTED_FIELDS: Final = tuple(one.name for one in fields(CountedConfig))
"""The settings that only counted logs have."""
COUNTED_SETTINGS: Final = (
    "brokers",
    "broker_ids",
    "racks",
    "coordinator",
    "latency",
    "processing",
    "load_us",
    "metadata_stale_us",
    "coordinators",
    *COUNTED_FIELDS,
)
"""The fields of a cluster's configuration, and of `CountedConfig`, that have an effect with counted logs."""
_LOAD_BUFFER: Final = "offsets.load.buffer.size"


@frozen
class ClusterConfig:
    """The cluster. `broker_ids` are 0, 1, … unless given; `racks` are assigned to the brokers in turn; `latency` is the
    latency of one TCP segment, `processing` a broker's time for one request.

    `load_us` and `metadata_stale_us` are added to the time of loading and of the network. With `storage` None the logs
    are in memory; a folder gets the files of broker n under `broker-n`. With `kept` the folder also holds the cluster's
    metadata, and a later cluster with the same folder continues from it. A `fresh` cluster has no `__consumer_offsets`
    before the first FindCoordinator. `loading` models the duration of a coordinator's loading. `properties` are the
    settings given by name, which DescribeConfigs answers.

    With `counted` records are only counted (`with_counted_logs`), and only `COUNTED_SETTINGS` have an effect.
    """

    brokers: int = field(default=3, validator=validators.ge(1))
    broker_ids: tuple[int, ...] = ()
    racks: tuple[str, ...] = ()
    coordinator: CoordinatorConfig = field(factory=CoordinatorConfig)
    controller: ControllerConfig = field(factory=ControllerConfig)
    replica: ReplicaConfig = field(factory=ReplicaConfig)
    transactions: TransactionConfig = field(factory=TransactionConfig)
    offsets_replication_factor: int = field(default=3, validator=validators.ge(1))
    offsets_segment_bytes: int = field(default=104_857_600, validator=validators.ge(1))
    default_replication_factor: int = field(default=1, validator=validators.ge(1))
    loading: LoadingCost = field(factory=LoadingCost)
    latency: Distribution = field(factory=lambda: parse_distribution("uniform(200us, 800us)"))
    processing: Distribution = field(factory=lambda: parse_distribution("100us"))
    load_us: int = field(default=0, validator=validators.ge(0))
    metadata_stale_us: int = field(default=0, validator=validators.ge(0))
    auto_create_topics_enable: bool = True
    acl: AclConfig = field(factory=AclConfig)
    storage: Path | None = None
    kept: bool = False
    fresh: bool = False
    properties: Mapping[str, str] = field(factory=dict)
    counted: CountedConfig | None = None
    #: Coordinators of brokers that run another release, or have other defects, than the rest.
    coordinators: Mapping[int, CoordinatorConfig] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        """Refuse `kept` without `storage`."""
        if self.kept and self.storage is None:
            raise ValueError("kept=True: give the folder to keep the cluster in (storage)")

    @property
    def nodes(self) -> tuple[int, ...]:
        """The brokers' ids."""
        return self.broker_ids or tuple(range(self.brokers))

    @property
    def offsets_partitions(self) -> int:
        """`offsets.topic.num.partitions`."""
        return self.coordinator.offsets_topic_num_partitions

    @property
    def coordinator_config(self) -> CoordinatorConfig:
        """The settings of coordinators."""
        return self.coordinator

    def coordinator_of(self, node: int) -> CoordinatorConfig:
        """Return the settings of one broker's coordinator."""
        return self.coordinators.get(node, self.coordinator)

    @property
    def offsets_replicas(self) -> int:
        """Number of replicas of `__consumer_offsets`; where the topic exists from the start, at most one per broker."""
        wanted = self.offsets_replication_factor
        return wanted if self.fresh else min(wanted, self.brokers)

    def offsets_topic_settings(self) -> dict[str, str]:
        """Return the settings of a new `__consumer_offsets`."""
        return {
            "cleanup.policy": "compact",
            "segment.bytes": str(self.offsets_segment_bytes),
            "compression.type": "producer",
        }

    @classmethod
    def with_counted_logs(cls, **given: Any) -> ClusterConfig:
        """Return a cluster whose records are only counted. `given` are fields of this class and of `CountedConfig`.

        By default a coordinator loads for 50 ms, and brokers name the previous coordinator for 100 ms.
        """
        counted = CountedConfig(**{name: given.pop(name) for name in COUNTED_FIELDS if name in given})
        return cls(**{"load_us": 50_000, "metadata_stale_us": 100_000, "counted": counted, **given})

    @classmethod
    def from_properties(cls, properties: Mapping[str, object], **others: Any) -> ClusterConfig:
        """Return a configuration from settings under Kafka's names; `others` are fields of this class.

        Numbers may be texts. Raises ValueError that names the key and the remedy.
        """
        config = cls(**{"properties": {name: _as_text(value) for name, value in properties.items()}, **others})
        by_part: dict[str, dict[str, object]] = {"coordinator": {}, "log": {}}
        for name, value in properties.items():
            homes = _homes(name)
            if not homes:
                raise ValueError(f"unknown broker setting {name!r}{_hint(name)}")
            for home in homes:
                if home in by_part:
                    by_part[home][name] = value
                else:
                    config = _set(config, home, name, value)
        if by_part["coordinator"]:
            config = evolve(config, coordinator=CoordinatorConfig.from_properties(by_part["coordinator"]))
        if by_part["log"]:
            log = broker_defaults(by_part["log"])
            config = evolve(config, replica=evolve(config.replica, log=log))
        _check_internal_topics(config)
        return config


def _check_internal_topics(config: ClusterConfig) -> None:
    """Refuse segment sizes below a topic's minimum: Kafka starts with them, but its controller refuses the topic."""
    topics = {
        "offsets.topic.segment.bytes": ("__consumer_offsets", config.offsets_segment_bytes),
        "transaction.state.log.segment.bytes": ("__transaction_state", config.transactions.segment_bytes),
    }
    for name, (topic, size) in topics.items():
        try:
            topic_config({"segment.bytes": size})
        except ValueError as error:
            expected = str(error).removeprefix("segment.bytes: ")
            raise ValueError(f"{name}: {expected}; {topic} could not be created with a smaller segment.bytes") from None


def _as_text(value: object) -> str:
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value).strip()


def values_in_effect(config: ClusterConfig) -> dict[str, str | None]:
    """Return every effective setting of a broker as text, except those of logs (`BROKER_SETTINGS`)."""
    found: dict[str, Any] = {name: getattr(config.coordinator, key.attribute) for name, key in BROKER_KEYS.items()}
    for home, names in _ATTRIBUTES.items():
        part = getattr(config, home)
        found.update({name: getattr(part, attribute) for name, attribute in names.items()})
    found.update({name: getattr(config, attribute) for name, attribute in _CLUSTER.items()})
    found[_LOAD_BUFFER] = config.loading.buffer_bytes
    found[acl.AUTHORIZER] = config.acl.authorizer
    return {name: None if value is None else _as_text(value) for name, value in found.items()}


def _kafka_names(config: type, own: frozenset[str] = frozenset()) -> dict[str, str]:
    """Return Kafka's name → attribute, for a class whose attributes are Kafka's names with underscores."""
    plain = (*_INTEGERS, *_FLAGS, "int | None", "str | None", int | None, str | None)
    return {f.name.replace("_", "."): f.name for f in fields(config) if f.type in plain and f.name not in own}


_CONTROLLER: Final = _kafka_names(ControllerConfig, _OWN_OF_CONTROLLER)
_REPLICA: Final = _kafka_names(ReplicaConfig, _OWN_OF_REPLICA)
_ATTRIBUTES: Final = {"controller": _CONTROLLER, "replica": _REPLICA, "transactions": TRANSACTION_KEYS}


_HOMES: Final[Mapping[str, Collection[str]]] = {
    "coordinator": BROKER_KEYS,
    **_ATTRIBUTES,
    "log": BROKER_SETTINGS,
    "cluster": _CLUSTER,
    "acl": _ACL,
    "loading": (_LOAD_BUFFER,),
}
"""The settings that each part of the configuration has; a setting may belong to several parts."""
_OWN: Final = ("broker.version", "broker.defects")


def _homes(name: str) -> list[str]:
    """Return the parts that a setting configures."""
    homes = [home for home, names in _HOMES.items() if name in names]
    return ["coordinator", *homes] if name in LEFT_OUT or name in _OWN else homes


KNOWN: Final = tuple(dict.fromkeys((*chain.from_iterable(_HOMES.values()), *_OWN)))
"""Every broker setting that has an effect here. `broker.version` and `broker.defects` are groupsim's own."""


def _hint(name: str) -> str:
    near = get_close_matches(name, KNOWN, 1)
    return f"; did you mean {near[0]}?" if near else f"; known are {', '.join(sorted(KNOWN))}"


def _set(config: ClusterConfig, home: str, name: str, value: object) -> ClusterConfig:
    """Return the configuration with one setting of one part set."""
    if home == "cluster":
        read_own = _flag if name == _AUTO_CREATE else _number
        whole: ClusterConfig = _evolved(config, name, _CLUSTER[name], read_own(name, value))
        return whole
    if home == "loading":
        return evolve(config, loading=_evolved(config.loading, name, "buffer_bytes", _number(name, value)))
    if home == "acl":
        return evolve(config, acl=evolve(config.acl, **{_ACL[name]: _READ_ACL[name](value)}))
    part: Any = getattr(config, home)
    attribute = _ATTRIBUTES[home][name]
    kind = getattr(fields(type(part)), attribute).type
    read = _flag if kind in _FLAGS else _text if "str" in str(kind) else _number
    return evolve(config, **{home: _evolved(part, name, attribute, read(name, value))})


def _evolved(part: Any, name: str, attribute: str, value: Any) -> Any:
    try:
        return evolve(part, **{attribute: value})
    except ValueError as error:
        raise ValueError(f"{name} cannot be {value!r}: {error}") from None


def _number(name: str, value: object) -> int:
    text = str(value).strip()
    if isinstance(value, bool) or not text.removeprefix("-").isdecimal():
        raise ValueError(f"{name} must be a whole number, not {value!r}")
    return int(text)


def _flag(name: str, value: object) -> bool:
    text = str(value).strip().lower()
    if text not in ("true", "false"):
        raise ValueError(f"{name} must be true or false, not {value!r}")
    return text == "true"


def _text(name: str, value: object) -> str:
    return str(value).strip()


_READ_ACL: Final[Mapping[str, Callable[[object], Any]]] = {
    acl.AUTHORIZER: acl.read_authorizer,
    acl.SUPER_USERS: acl.read_super_users,
    acl.ALLOW_EVERYONE: lambda value: _flag(acl.ALLOW_EVERYONE, value),
}
