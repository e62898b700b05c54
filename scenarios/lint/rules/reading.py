"""Rules about fetches: the replica, the amount, and records of open transactions."""

from __future__ import annotations

from collections.abc import Iterator

from groupsim.scenarios.language.problems import NOTE, WARNING
from groupsim.scenarios.lint.rule import Hit, Rule
from groupsim.scenarios.lint.view import ClientView

_ISOLATION, _RACK, _SELECTOR = "isolation.level", "client.rack", "replica.selector.class"
_ASSIGNORS = "group.consumer.assignors"
_LEAST, _WAIT = "fetch.min.bytes", "fetch.max.wait.ms"
_FAST_BYTES_PER_MS = 10_000  # 10 MB/s from one broker to one consumer


def _uncommitted(view: ClientView) -> Iterator[Hit]:
    if view.transactional and view.value(_ISOLATION) == "read_uncommitted":
        message = f"{view.shown(_ISOLATION)}, and `{view.transactional[0]}` is written in transactions"
        yield Hit((_ISOLATION,), message, f"set {view.name(_ISOLATION)} = read_committed")


def _rack(view: ClientView) -> Iterator[Hit]:
    broker = view.broker
    known = broker.racks is not None or broker.written("broker.rack") or broker.written(_SELECTOR)
    if not view.written(_RACK) or not str(view.value(_RACK)) or not known or _has_own_assignor(view):
        return
    racked = broker.written("broker.rack") or broker.racks
    if not broker.written(_SELECTOR):
        message = f"`{_RACK}` has no effect: the brokers have no {_SELECTOR}, so the leader answers every fetch"
        remedy = f"set {_SELECTOR} = org.apache.kafka.common.replica.RackAwareReplicaSelector on the brokers"
        yield Hit((_RACK,), message, remedy)
    elif broker.racks is not None and not racked:
        yield Hit((_RACK,), f"`{_RACK}` has no effect: the brokers have no racks", "set broker.rack on each broker")


def _has_own_assignor(view: ClientView) -> bool:
    """Whether the coordinator has an assignor of the user's, which gets the rack; Kafka's own do not use it."""
    given = view.broker.settings.get(_ASSIGNORS)
    return not view.classic and given is not None and ":" in str(given.value)


def _wait_ends_it(view: ClientView) -> Iterator[Hit]:
    least, wait = view.number(_LEAST), view.number(_WAIT)
    if view.written(_LEAST) and wait > 0 and least > wait * _FAST_BYTES_PER_MS:
        message = f"{view.shown(_LEAST)} would need {least // wait // 1_000} MB/s within {view.shown(_WAIT)}"
        remedy = f"set {view.setting(_WAIT, 500 if wait < 500 else 2 * wait)}, or {view.name(_LEAST)} = {1_000 * wait}"
        yield Hit((_LEAST, _WAIT), message, remedy)


RULES: tuple[Rule[ClientView], ...] = (
    Rule(
        "reads-uncommitted",
        WARNING,
        "isolation.level = read_uncommitted where producers of the scenario are transactional",
        "records of aborted transactions are delivered, and records of open ones before their commit",
        "KIP-98; documentation of isolation.level",
        _uncommitted,
    ),
    Rule(
        "rack-without-selector",
        WARNING,
        "client.rack where brokers have no rack-aware selector, or no racks",
        "the broker chooses the replica, by default the leader, wherever the client is",
        "KIP-392; documentation of replica.selector.class",
        _rack,
    ),
    Rule(
        "fetch-min-bytes-above-wait",
        NOTE,
        "fetch.min.bytes that no fetch reaches within fetch.max.wait.ms",
        "the wait ends every fetch: records come later, and not in larger fetches",
        "documentation of fetch.min.bytes; DelayedFetch",
        _wait_ends_it,
    ),
)
