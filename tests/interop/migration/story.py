"""The story: twenty pods of one group, each closed and started again with the other protocol, twice.

Half of the pods are Java's consumer, which share one JVM, and half are processes of librdkafka; half of each are
static. The classic members share the strategy `range`, which both clients offer by default. Little in the story depends
on how fast a machine is: the successor of a pod subscribes `DOWN_S` after its predecessor has released its partitions,
and the next pod is asked to close `STEP_S` after the one before. The heartbeat interval is the same in both protocols,
and not shorter than 3 s: librdkafka gives a heartbeat up after one interval, and a static member whose first one was
given up ends with UNRELEASED_INSTANCE_ID, so that a short interval would measure the machine.
"""

from __future__ import annotations

from attrs import frozen

CLASSIC, CONSUMER = "classic", "consumer"
ROLLS = (CONSUMER, CLASSIC)
"""The protocols of the successors, roll by roll; the pods begin with the last of them."""
JAVA, LIBRDKAFKA = "java", "librdkafka"
EACH = 5
"""Pods of each client that are static, and so many that are dynamic."""
PARTITIONS = 40
DOWN_S = 4.0
STEP_S = 5.0
BETWEEN_S = 5.0
"""Seconds from the end of the first roll until the second begins."""
HEARTBEAT_MS = 3_000
SESSION_MS = 30_000
CONSUMER_SESSION_MS = 45_000
TURN_S = 1.0
"""Each partition gets one record so often."""


@frozen
class Pod:
    """One pod of the group: its name, the client in it, and whether it has a `group.instance.id` (its name)."""

    name: str
    client: str
    static: bool


PODS = tuple(
    Pod(f"{client}-{'static' if static else 'dynamic'}-{number}", client, static)
    for number in range(1, EACH + 1)
    for static in (True, False)
    for client in (JAVA, LIBRDKAFKA)
)
"""In the order in which they are rolled."""

BROKERS = {
    "group.consumer.heartbeat.interval.ms": HEARTBEAT_MS,
    "group.consumer.session.timeout.ms": CONSUMER_SESSION_MS,
}
PATIENT_CONTROLLER = {"broker.session.timeout.ms": 60_000}
"""Of real brokers: one that gets no processor for six seconds is not fenced, which would end its leaderships."""


@frozen
class Found:
    """What one run of the story found. Seconds; the two lists are empty when all is well.

    longest       the longest time in which a partition had no owner, while the pods were rolled
    moved         the same of partitions that a dynamic pod had released: no restart was waited for
    lost          records that were acknowledged and never consumed
    dead          pods that ended, or were thrown out, without having been asked to close
    """

    longest: float
    moved: float
    lost: int
    dead: tuple[str, ...] = ()
