"""The story: twenty pods of one group, each closed and started again with the other protocol, twice.

Half of the pods are Java's consumer, which share one JVM, and half are processes of librdkafka; half of each are
static. The classic members share the strategy `range`, which both clients offer by default. The heartbeat interval is
the same in both protocols, and not shorter than 3 s: librdkafka gives a heartbeat up after one interval, and a static
member whose first one was given up ends with UNRELEASED_INSTANCE_ID, so that a short interval would measure the
machine.

Where the heartbeats fall decides how long a partition waits, so the story sets the instant of every one of them. The
first heartbeats of the classic members are those of the group's formation, later ones follow the return of each pod,
and both are instants of `SCHEDULE`. `STEP_S` is chosen by two rules:

- It is more than an interval longer than `DOWN_S`, so that every member has heard of the pod that returned before the
  next one closes. A static member that closes before it hears of a revocation keeps the partition while it is away,
  and for the next owner's wait after that. Which member that is depends on the member ids, which are random.
- It is no multiple of the interval's simple fractions, so that no two instants are the same modulo the interval. With
  steps of 5 s all heartbeats fell on whole seconds, as the closes did, and milliseconds decided about an interval.

`BETWEEN_S` puts the close of the last pods shortly before the heartbeat of the last member of the consumer protocol:
only that one (or a join) computes the next target, since heartbeats of classic members do not.
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
FORMED_S = 10.0
"""From the last assignment of the group's formation until the first pod closes."""
DOWN_S = 4.0
"""From the release of a pod's partitions until its successor subscribes."""
STEP_S = 7.85
"""From the close of a pod to that of the next one."""
BETWEEN_S = 7.0
"""By so much the second roll begins later than another step would."""
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


@frozen
class Close:
    """A pod closes `after_s` seconds after the group has formed; its successor has the `protocol`."""

    after_s: float
    pod: Pod
    protocol: str


SCHEDULE = tuple(
    Close(FORMED_S + STEP_S * (len(PODS) * turn + place) + BETWEEN_S * turn, pod, protocol)
    for turn, protocol in enumerate(ROLLS)
    for place, pod in enumerate(PODS)
)
"""Every close, in order of time."""

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
    total         the times of all partitions together
    lost          records that were acknowledged and never consumed
    dead          pods that ended, or were thrown out, without having been asked to close
    """

    longest: float
    moved: float
    total: float
    lost: int
    dead: tuple[str, ...] = ()
