"""Rules about a topic and its producers: acks, min.insync.replicas, and the number of replicas.

`acks` selects the replicas that a producer waits for, `min.insync.replicas` how many must be in sync for an acks=all
write to be accepted. Neither has an effect without the other. In a server.properties the topic is one created with the
brokers' defaults.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from attrs import field

from groupsim.protocol.values import frozen
from groupsim.scenarios.language.problems import ERROR, NOTE, WARNING, Place
from groupsim.scenarios.lint.brokers import BrokerView
from groupsim.scenarios.lint.producer_view import ProducerView
from groupsim.scenarios.lint.rule import Hit, Rule

LEAST = "min.insync.replicas"
_SUBJECT = "a topic created with the brokers' defaults"


@frozen
class WriteView:
    """A topic: its replicas, min.insync.replicas if it was written, and the producers of the file.

    `places` has the places of `min.insync.replicas` and `acks`.
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
        """The topic's name for a message."""
        return f"`{self.name}`" if self.name else _SUBJECT

    def place_of(self, keys: tuple[str, ...]) -> Place:
        """Return the place of the first of these keys: a setting of the topic, or `acks` of its producers."""
        for key in keys:
            if key in self.places:
                return self.places[key]
        return self.where


def defaults_of(broker: BrokerView) -> WriteView | None:
    """Return the topic that the defaults of a server.properties describe, if they are written."""
    factor = "default.replication.factor"
    if not broker.written(factor) or not broker.written(LEAST):
        return None
    place = broker.place_of((LEAST,))
    return WriteView("", broker.number(factor), broker.number(LEAST), broker, place, places={LEAST: place})


def _above(view: WriteView) -> Iterator[Hit]:
    """Find a minimum above the replicas. Since 3.7 brokers use the smaller number (KAFKA-15583)."""
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
    """Find acks=all with a minimum of 1, if the file has producers: otherwise it is Kafka's default."""
    all_of = [one for one in view.producers if one.acks == -1]
    if view.replicas > 1 and (view.least or 1) == 1 and all_of:
        default = "" if view.least is not None else " (default)"
        message = f"acks = all of {_named(all_of)} waits for the leader alone when the others lag: {LEAST} = 1{default}"
        yield Hit((LEAST,), message, f"set {LEAST} = {max(2, view.replicas - 1)} of {view.called}")


def _useless(view: WriteView) -> Iterator[Hit]:
    others = [one for one in view.producers if one.acks != -1]
    if others and (view.least or 1) > 1:
        message = (
            f"{LEAST} = {view.least} of {view.called} has no effect for {_named(others)}: {others[0].shown('acks')}"
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
        "it counts as the number of replicas: every write with acks=all is refused while one of their brokers is down; "
        "before 3.7 all are refused",
        "KAFKA-15583; Partition.effectiveMinIsr",
        _above,
    ),
    Rule(
        "min-insync-equals-replicas",
        NOTE,
        "min.insync.replicas equal to the number of replicas",
        "while one broker is down, every write with acks=all is refused (NOT_ENOUGH_REPLICAS)",
        "documentation of min.insync.replicas; Partition.appendRecordsToLeader",
        _equal,
    ),
    Rule(
        "min-insync-1-with-acks-all",
        NOTE,
        "acks=all with one in-sync replica as minimum",
        "all means all in-sync replicas: with followers behind or dead it is the leader alone, and records it has "
        "acknowledged are lost with its disk",
        "documentation of acks and min.insync.replicas; KIP-966",
        _little,
    ),
    Rule(
        "min-insync-without-acks-all",
        WARNING,
        "min.insync.replicas above 1 for producers with acks other than all",
        "brokers check min.insync.replicas for acks=all only: others get the leader's acknowledgement, or none",
        "Partition.appendRecordsToLeader (`requiredAcks == -1`)",
        _useless,
    ),
)
