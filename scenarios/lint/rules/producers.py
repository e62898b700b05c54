"""Rules about a producer's own settings: idempotence and transactions, their requirements, and contradicting times.

`ProducerConfig.postProcessAndValidateIdempotenceConfigs` and `KafkaProducer.configureDeliveryTimeout` decide which
settings are refused or overridden; the transaction coordinator decides what brokers refuse.
"""

from __future__ import annotations

from collections.abc import Iterator

from groupsim.scenarios.language.problems import ERROR, NOTE, WARNING
from groupsim.scenarios.lint.producer_view import ProducerView
from groupsim.scenarios.lint.rule import Hit, Rule

_IDEMPOTENCE, _DELIVERY, _TIMEOUT = "enable.idempotence", "delivery.timeout.ms", "transaction.timeout.ms"
_IN_FLIGHT = "max.in.flight.requests.per.connection"
_LONGEST_TRANSACTION = "transaction.max.timeout.ms"
_MOST_IN_FLIGHT = 5
_LARGEST_INT = 2**31 - 1


def _impossible(view: ProducerView) -> Iterator[Hit]:
    for name, error in view.impossible.items():
        yield Hit((name,), f"`{name}` = {error.value}: {error.problem}", error.remedy)


def _conflicts(view: ProducerView) -> Iterator[tuple[str, str]]:
    """Yield settings that exclude idempotence, each with the remedy, in the order of Java's checks."""
    if view.acks != -1:
        yield "acks", "set acks = all"
    if view.number("retries") == 0:
        yield "retries", "remove retries; delivery.timeout.ms ends a send"
    if view.number(_IN_FLIGHT) > _MOST_IN_FLIGHT:
        yield _IN_FLIGHT, f"set {_IN_FLIGHT} = {_MOST_IN_FLIGHT}, or less"


def _refused(view: ProducerView) -> Iterator[Hit]:
    if not view.asks_for_idempotence or (view.value(_IDEMPOTENCE) is False and view.written(_IDEMPOTENCE)):
        return
    what = "a transactional producer" if view.transactional else f"{_IDEMPOTENCE} = true"
    for key, remedy in _conflicts(view):
        yield Hit((key, _IDEMPOTENCE, "transactional.id"), f"{view.shown(key)} beside {what}", remedy)


def _switched_off(view: ProducerView) -> Iterator[Hit]:
    if view.asks_for_idempotence or view.value(_IDEMPOTENCE) is False:
        return
    for key, remedy in _conflicts(view):
        message = f"{view.shown(key)} switches idempotence off, which is on by default"
        yield Hit((key,), message, f"{remedy}, or set {_IDEMPOTENCE} = false explicitly")


def _transaction_without(view: ProducerView) -> Iterator[Hit]:
    if view.transactional and view.written(_IDEMPOTENCE) and view.value(_IDEMPOTENCE) is False:
        message = f"{_IDEMPOTENCE} = false beside transactional.id"
        yield Hit((_IDEMPOTENCE,), message, f"remove {_IDEMPOTENCE}, or the transactional.id")


def _delivery(view: ProducerView) -> Iterator[Hit]:
    least = min(view.number("linger.ms") + view.number("request.timeout.ms"), _LARGEST_INT)
    if view.number(_DELIVERY) >= least:
        return
    parts = f"{view.shown('linger.ms')} + {view.shown('request.timeout.ms')}"
    keys = (_DELIVERY, "linger.ms", "request.timeout.ms")
    if view.written(_DELIVERY):
        yield Hit(keys, f"{view.shown(_DELIVERY)} is below {parts}", f"set {_DELIVERY} = {least}, or more")
    else:
        message = f"{parts} is above {view.shown(_DELIVERY)}, which is raised to it without a warning"
        yield Hit(keys, message, f"set {_DELIVERY} = {least}, or lower the others", NOTE)


def _transaction_timeout(view: ProducerView) -> Iterator[Hit]:
    most = view.broker.number(_LONGEST_TRANSACTION)
    if view.transactional and view.number(_TIMEOUT) > most:
        default = "" if view.broker.written(_LONGEST_TRANSACTION) else " (default)"
        message = f"{view.shown(_TIMEOUT)} is above the brokers' {_LONGEST_TRANSACTION} = {most}{default}"
        remedy = f"set {_TIMEOUT} = {most}, or less; or raise {_LONGEST_TRANSACTION} on the brokers"
        yield Hit((_TIMEOUT, "transactional.id"), message, remedy)


def _timeout_unused(view: ProducerView) -> Iterator[Hit]:
    if view.written(_TIMEOUT) and not view.transactional:
        message = f"`{_TIMEOUT}` has no effect without a transactional.id"
        yield Hit((_TIMEOUT,), message, "remove it, or set transactional.id")


RULES: tuple[Rule[ProducerView], ...] = (
    Rule(
        "impossible-producer-value",
        ERROR,
        "a value the producer cannot read",
        "the producer refuses it when it is created (ConfigException)",
        "ConfigDef.parseType and validators of ProducerConfig",
        _impossible,
    ),
    Rule(
        "idempotence-refused",
        ERROR,
        "idempotence or transactions beside acks other than all, retries = 0, or more than five requests in flight",
        "the producer refuses to start (ConfigException): the broker could not distinguish a retry from a new record",
        "ProducerConfig.postProcessAndValidateIdempotenceConfigs; KIP-98",
        _refused,
    ),
    Rule(
        "idempotence-switched-off",
        WARNING,
        "a setting that switches the default idempotence off",
        "without an explicit enable.idempotence the producer drops it with a line in its log: retries may write a "
        "record twice, and out of order",
        "KIP-679; KAFKA-13598; ProducerConfig.postProcessAndValidateIdempotenceConfigs",
        _switched_off,
    ),
    Rule(
        "transaction-without-idempotence",
        ERROR,
        "a transactional id with idempotence switched off",
        "the producer refuses to start (ConfigException): records of a transaction need sequence numbers",
        "ProducerConfig.postProcessAndValidateIdempotenceConfigs; KIP-98",
        _transaction_without,
    ),
    Rule(
        "delivery-timeout-below-request",
        ERROR,
        "a delivery timeout shorter than linger and one request (when not written: note)",
        "the producer refuses to start (ConfigException): a batch would expire before its first request can time out",
        "KIP-91; KafkaProducer.configureDeliveryTimeout",
        _delivery,
    ),
    Rule(
        "transaction-timeout-above-broker",
        ERROR,
        "a transaction timeout longer than the brokers allow",
        "InitProducerId is answered INVALID_TRANSACTION_TIMEOUT, and initTransactions() throws",
        "KIP-98; TransactionCoordinator.handleInitProducerId",
        _transaction_timeout,
    ),
    Rule(
        "transaction-timeout-unused",
        NOTE,
        "a transaction timeout without transactions",
        "only InitProducerId of a transactional producer sends it",
        "ProducerConfig; InitProducerIdRequest",
        _timeout_unused,
    ),
)
