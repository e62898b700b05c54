"""Rules about a topic and those who write to it: acks against min.insync.replicas against the number of replicas.

`acks` says whose word a producer waits for, `min.insync.replicas` how many must be in sync for an acks=all write to be
taken at all. Neither does anything without the other. In a server.properties the topic is one that is made with the
brokers' defaults.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from attrs import field, frozen

from groupsim.scenarios.language.problems import ERROR, NOTE, WARNING, Place
from groupsim.scenarios.lint.brokers import BrokerView
from groupsim.scenarios.lint.producer_view import ProducerView
from groupsim.scenarios.lint.rule import Hit, Rule

LEAST = "min.insync.replicas"
_SUBJECT = "a topic that is made with the brokers' defaults"


@frozen
class WriteView:
    """A topic: its replicas, min.insync.replicas if that was written, and the producers that a file names for it.

    `places` says where `min.insync.replicas` and the rest of the topic stand.
    """

    name: str
    replicas: int
    least: int | None
    broker: BrokerView
    where: Place
    producers: tuple[ProducerView, ...] = ()
    places: Mapping[str, Place] = field(factory=dict)

    @property
    def called(self) -> str:
        """The topic, as a message names it."""
        return f"`{self.name}`" if self.name else _SUBJECT

    def place_of(self, keys: tuple[str, ...]) -> Place:
        """Where the first of these was written: a setting of the topic, or `acks` of its producers."""
        for key in keys:
            if key in self.places:
                return self.places[key]
        return self.where


def defaults_of(broker: BrokerView) -> WriteView | None:
    """The topic that a server.properties speaks of, if it does."""
    factor = "default.replication.factor"
    if not broker.written(factor) or not broker.written(LEAST):
        return None
    place = broker.place_of((LEAST,))
    return WriteView("", broker.number(factor), broker.number(LEAST), broker, place, places={LEAST: place})


def _above(view: WriteView) -> Iterator[Hit]:
    """From 3.7 on brokers take the lesser of the two; before, no write with acks=all was ever taken."""
    if view.least is None or view.least <= view.replicas:
        return
    message = f"{LEAST} = {view.least} of {view.called}, which has {view.replicas} replicas"
    remedy = f"give it {view.least} replicas or more, or set {LEAST} = {max(1, view.replicas - 1)}"
    if view.broker.before(3, 7):
        yield Hit((LEAST,), message, remedy, ERROR, "every write with acks=all is refused (NOT_ENOUGH_REPLICAS)")
    else:
        yield Hit((LEAST,), message, remedy)


def _equal(view: WriteView) -> Iterator[Hit]:
    if view.least == view.replicas > 1:
        message = f"{LEAST} = {view.least} of {view.called}, which has as many replicas"
        yield Hit((LEAST,), message, f"set {LEAST} = {view.least - 1}, or give it {view.least + 1} replicas")


def _little(view: WriteView) -> Iterator[Hit]:
    """Only where a file names who writes: it is Kafka's default otherwise, and no news to anybody."""
    all_of = [one for one in view.producers if one.acks == -1]
    if view.replicas > 1 and (view.least or 1) == 1 and all_of:
        default = "" if view.least is not None else " (default)"
        message = f"acks = all of {_named(all_of)} is one broker's word when the others lag: {LEAST} = 1{default}"
        yield Hit((LEAST,), message, f"set {LEAST} = {max(2, view.replicas - 1)} of {view.called}")


def _useless(view: WriteView) -> Iterator[Hit]:
    others = [one for one in view.producers if one.acks != -1]
    if others and (view.least or 1) > 1:
        message = (
            f"{LEAST} = {view.least} of {view.called} does nothing for {_named(others)}: {others[0].shown('acks')}"
        )
        hit = ("acks", LEAST) if "acks" in others[0].entries else (LEAST,)
        yield Hit(hit, message, "set acks = all")


def _named(producers: list[ProducerView]) -> str:
    return ", ".join(f"`{one.subject}`" for one in producers)


RULES: tuple[Rule[WriteView], ...] = (
    Rule(
        "min-insync-above-replicas",
        WARNING,
        "min.insync.replicas above the number of replicas (brokers before 3.7: error)",
        "it counts as the number of replicas: no write with acks=all is taken while one of their brokers is down; "
        "before 3.7 every one was refused",
        "KAFKA-15583; Partition.effectiveMinIsr",
        _above,
    ),
    Rule(
        "min-insync-equals-replicas",
        NOTE,
        "min.insync.replicas equal to the number of replicas",
        "one broker down, and every write with acks=all is refused (NOT_ENOUGH_REPLICAS) until it is back",
        "documentation of min.insync.replicas; Partition.appendRecordsToLeader",
        _equal,
    ),
    Rule(
        "min-insync-1-with-acks-all",
        NOTE,
        "acks=all where one replica in sync is enough",
        "all means all that are in sync: with followers behind or dead it is the leader alone, and what it has "
        "acknowledged goes with its disk",
        "documentation of acks and min.insync.replicas; KIP-966",
        _little,
    ),
    Rule(
        "min-insync-without-acks-all",
        WARNING,
        "min.insync.replicas above 1 for producers with acks other than all",
        "brokers look at min.insync.replicas for acks=all only: what the leader alone has is acknowledged, or nothing",
        "Partition.appendRecordsToLeader (`requiredAcks == -1`)",
        _useless,
    ),
)
