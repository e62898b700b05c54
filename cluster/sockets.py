"""What lies at the bottom of a connection: its client's correlation ids, and the fields that a heartbeat touches."""

from __future__ import annotations


class Correlations:
    """The correlation ids of one client host, shared by its connections, so that host and id name one request."""

    __slots__ = ("last",)

    def __init__(self) -> None:
        self.last = 0


class Quiet:
    """What a heartbeat touches of a connection. Slots of a base class lie side by side, before those of the class
    itself: of ten thousand connections none is in the processor's cache, and each line of one is waited for.
    """

    __slots__ = (
        "_at",
        "_broken",
        "_busy",
        "_check_us",
        "_floor_in",
        "_floor_out",
        "_ids",
        "_incarnation",
        "_latencies",
        "_loop",
        "_more",
        "_oldest",
        "_processing_us",
        "_queue",
        "_trace",
        "broker",
        "broker_host",
        "client",
        "correlation",
        "open",
        "plain",
        "request",
        "up",
    )
