"""Settings of groups (KIP-1082 and others): a table of names, types and bounds, and the checks of their values.

They are settings of groups of the consumer, share and streams protocols. A classic group ignores them, as in Kafka.
Those of the consumer protocol have an effect (`coordinator/base/group_configs.py`); the others are stored and described
so that a client can set and read them.

Read from a 4.4.0 broker's DescribeConfigs, and from its answers to values out of bounds; the order of the checks from
the released class. Source: `GroupConfig`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from groupsim.cluster.config.inert_settings import INERT
from groupsim.cluster.config.setting_values import Invalid, check_value
from groupsim.coordinator.base.versions import BASELINE, OLDEST, Version, parse_version
from groupsim.protocol.values import frozen

OFFSET_RESET: Final = "share.auto.offset.reset"
_ASSIGNOR: Final = "streams.assignor.name"
_DLQ: Final = "errors.deadletterqueue.topic.name"
_ASSIGNORS: Final = ("sticky",)
_DURATION: Final = re.compile(r"by_duration:P(?=.)(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+(\.\d+)?S)?)?", re.IGNORECASE)


@frozen
class GroupSetting:
    """One setting of groups: type, the broker's setting with its default, the least value, the broker's bounds.

    `default` is the default of a setting without a broker's setting. Internal settings are described only if set.
    """

    type: str
    synonym: str
    default: str | None
    least: int | None
    bounds: tuple[str | None, str | None]
    internal: bool


# Name, type, the broker's setting, default of a setting without one, least value, bounds (broker's settings).
_ROWS = """
consumer.assignment.interval.ms INT group.consumer.assignment.interval.ms - 0 min,max
consumer.assignor.offload.enable BOOLEAN group.consumer.assignor.offload.enable true - - internal
consumer.heartbeat.interval.ms INT group.consumer.heartbeat.interval.ms - 1 min,max
consumer.session.timeout.ms INT group.consumer.session.timeout.ms - 1 min,max
errors.deadletterqueue.copy.record.enable BOOLEAN errors.deadletterqueue.copy.record.enable false - -
errors.deadletterqueue.topic.name STRING errors.deadletterqueue.topic.name '' - -
share.assignment.interval.ms INT group.share.assignment.interval.ms - 0 min,max
share.assignor.offload.enable BOOLEAN group.share.assignor.offload.enable true - - internal
share.auto.offset.reset STRING share.auto.offset.reset latest - -
share.delivery.count.limit INT group.share.delivery.count.limit - 2 min,max
share.heartbeat.interval.ms INT group.share.heartbeat.interval.ms - 1 min,max
share.isolation.level STRING share.isolation.level read_uncommitted - -
share.partition.max.record.locks INT group.share.partition.max.record.locks - 100 min,max
share.record.lock.duration.ms INT group.share.record.lock.duration.ms - 1000 min,max
share.renew.acknowledge.enable BOOLEAN share.renew.acknowledge.enable true - -
share.session.timeout.ms INT group.share.session.timeout.ms - 1 min,max
streams.acceptable.recovery.lag LONG group.streams.acceptable.recovery.lag 10000 0 - internal
streams.assignment.interval.ms INT group.streams.assignment.interval.ms - 0 min,max
streams.assignor.name STRING group.streams.assignors - - -
streams.assignor.offload.enable BOOLEAN group.streams.assignor.offload.enable true - - internal
streams.heartbeat.interval.ms INT group.streams.heartbeat.interval.ms - 1 min,max
streams.initial.rebalance.delay.ms INT group.streams.initial.rebalance.delay.ms - 0 -
streams.num.standby.replicas INT group.streams.num.standby.replicas - 0 max:group.streams.max.standby.replicas
streams.num.warmup.replicas INT group.streams.num.warmup.replicas 2 0 max:20 internal
streams.rack.aware.assignment.tags LIST group.streams.rack.aware.assignment.tags - - -
streams.session.timeout.ms INT group.streams.session.timeout.ms - 1 min,max
streams.task.offset.interval.ms INT group.streams.task.offset.interval.ms 60000 1 min:15000 internal
"""


def _row(kind: str, synonym: str, default: str, least: str, bounds: str, internal: str = "") -> GroupSetting:
    """Read one row; `min,max` means that a broker has both bounds, under the name with `.min` or `.max` in it."""
    low = high = None
    if bounds == "min,max":
        first, second, rest = synonym.split(".", 2)
        low, high = (f"{first}.{second}.{end}.{rest}" for end in ("min", "max"))
    elif bounds.startswith("max:"):
        high = bounds.removeprefix("max:")
    elif bounds.startswith("min:"):
        low = bounds.removeprefix("min:")
    value = None if default == "-" else default.strip("'")
    return GroupSetting(kind, synonym, value, None if least == "-" else int(least), (low, high), bool(internal))


GROUP: Final[Mapping[str, GroupSetting]] = {
    name: _row(*row) for name, *row in (line.split() for line in _ROWS.strip().splitlines())
}
"""Every setting of groups, by name, in the order of names."""


_NEWEST: Final = parse_version(BASELINE)
SINCE: Final[Mapping[str, Version]] = {
    "consumer.assignment.interval.ms": (4, 3),
    "consumer.assignor.offload.enable": (4, 4),
}
"""The first release of settings of the consumer protocol that 4.0 lacks; of other kinds all are known."""

_BOUNDS_IN_ORDER: Final = (
    *("consumer.heartbeat.interval.ms", "consumer.session.timeout.ms", "consumer.assignment.interval.ms"),
    *("share.heartbeat.interval.ms", "share.session.timeout.ms", "share.record.lock.duration.ms"),
    *("share.delivery.count.limit", "share.partition.max.record.locks", "share.assignment.interval.ms"),
    *("streams.heartbeat.interval.ms", "streams.session.timeout.ms", "streams.num.standby.replicas"),
    *("streams.assignment.interval.ms", "streams.task.offset.interval.ms", "streams.num.warmup.replicas"),
)
"""The settings with bounds, in the order of `GroupConfig.validateValues`: an answer has the first error."""


@frozen
class GroupRules:
    """What brokers accept as settings of a group. `brokers` are their own static settings, which hold the bounds."""

    brokers: Mapping[str, str | None]
    version: Version = _NEWEST

    @property
    def release(self) -> str:
        """The release as text."""
        return ".".join(str(part) for part in self.version)

    @property
    def known(self) -> Mapping[str, GroupSetting]:
        """The settings that this release has, by name, in the order of names."""
        return {name: row for name, row in GROUP.items() if SINCE.get(name, OLDEST) <= self.version}

    def check(self, config: Mapping[str, str]) -> None:
        """Check all settings of a group together, in Kafka's order and words.

        Raises `Invalid`: an unknown name, a value of another type or out of bounds, a session not above the interval
        of heartbeats.
        """
        known = self.known
        for name in config:
            if name not in known:
                raise Invalid(f"Unknown group config name: {name}")
        for name, row in known.items():
            if name in config:
                check_value(name, row.type, config[name], least=row.least)
                _check_text(name, config[name].strip())
        for name in _BOUNDS_IN_ORDER:
            if name in config:
                _check_bounds(name, int(config[name].strip()), GROUP[name], self.brokers)
        if _ASSIGNOR in config:
            _check_assignor(config[_ASSIGNOR].strip())
        for kind in ("consumer", "share", "streams"):
            self._check_session(config, f"{kind}.session.timeout.ms", f"{kind}.heartbeat.interval.ms")
        if config.get(_DLQ, "").strip().startswith("__"):
            raise Invalid(f"{_DLQ}: DLQ topic name must not start with '__'")

    def _check_session(self, config: Mapping[str, str], session: str, beat: str) -> None:
        if session not in config and beat not in config:
            return
        timeout_ms, interval_ms = (
            int(config.get(name) or _bound(GROUP[name].synonym, self.brokers)) for name in (session, beat)
        )
        if timeout_ms <= interval_ms:
            raise Invalid(f"{session} must be greater than {beat}")


def _check_text(name: str, value: str) -> None:
    if name == OFFSET_RESET and value not in ("earliest", "latest") and not _DURATION.fullmatch(value):
        form = "The value must be either 'earliest', 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'."
        prefix = f"Invalid value {value} for configuration {name}"
        raise Invalid(f"{prefix}: Invalid value `{value}` for configuration {name}. {form}")
    if name == "share.isolation.level" and value not in ("read_committed", "read_uncommitted"):
        text = "String must be one of: read_committed, read_uncommitted"
        raise Invalid(f"Invalid value {value} for configuration {name}: {text}")


def _check_assignor(value: str) -> None:
    if value not in _ASSIGNORS:
        registered = f"Registered assignors are: [{', '.join(_ASSIGNORS)}]."
        raise Invalid(f"{_ASSIGNOR} '{value}' is not a registered task assignor. {registered}")


def _check_bounds(name: str, value: int, row: GroupSetting, brokers: Mapping[str, str | None]) -> None:
    low, high = (None if bound is None else int(_bound(bound, brokers)) for bound in row.bounds)
    if low is not None and high is not None:
        if not low <= value <= high:
            raise Invalid(f"{name} must be in the range {low} to {high} inclusive.")
    elif high is not None and value > high:
        raise Invalid(f"{name} must be less than or equal to {high}")
    elif low is not None and value < low:
        raise Invalid(f"{name} must be greater than or equal to {low}")


def _bound(name: str, brokers: Mapping[str, str | None]) -> str:
    """Return a bound: a broker's setting, or the number itself. Settings without effect keep their defaults."""
    if name in brokers:
        return brokers[name] or ""
    return INERT[name][1] or "" if name in INERT else name
