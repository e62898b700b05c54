"""The brokers that the suite starts and reaches over sockets: a real cluster, or a `groupsim serve`."""

from __future__ import annotations

import signal
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager

from attrs import frozen

from groupsim.control import Served
from tests.conformance.basics import SCALA
from tests.conformance.nodes import Nodes, RealNodes, ServedNodes, ServedOne
from tests.conformance.peers import Address
from tests.conformance.servers import KafkaBroker

WITHOUT: frozenset[str] = frozenset()
"""What the simulated broker has no setting for."""
RELEASE = "broker.version"
"""Not one of Kafka's settings: of which release a peer is; `SCALA` is then `kafka_jars.BEFORE` of the real ones."""


def ended_in_order() -> None:
    """A SIGTERM from now on ends this process as ctrl-C does, so that the brokers it has started are stopped too."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs have it ignored
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))


@frozen
class Live:
    """Where a cluster listens now, by node; `nodes` handles them where scripts may."""

    addresses: list[Address]
    nodes: Nodes | None = None

    @property
    def listening(self) -> list[Address]:
        """Those of the nodes that are up and do not stand still; the next play brings the others back."""
        if self.nodes is None:
            return self.addresses
        handled = self.nodes.handled
        return [self.addresses[node] for node in sorted(handled.up - handled.paused)]


def addresses_of(bootstrap: str) -> list[Address]:
    """`host:port,host:port` as pairs."""
    pairs = (text.rpartition(":") for text in bootstrap.split(","))
    return [(host, int(port)) for host, _, port in pairs]


@contextmanager
def real(settings: Mapping[str, object], brokers: int = 1, *, handled: bool = False) -> Iterator[Live]:
    """A real cluster of so many nodes, while the context lasts. Raises what `KafkaBroker` raises.

    `handled`: scripts may handle the nodes.
    """
    own = {name: value for name, value in settings.items() if name != RELEASE}
    with broker_of(settings.get(RELEASE), own, brokers) as kafka:
        yield Live(addresses_of(kafka.bootstrap), RealNodes(kafka) if handled else None)


def broker_of(release: object, settings: Mapping[str, object], brokers: int = 1) -> KafkaBroker:
    """A real broker of a release that has not been started; None is the newest one."""
    if release is None or release == SCALA:
        return KafkaBroker(brokers, settings, before=release == SCALA)
    return KafkaBroker(brokers, settings, release=str(release))


@contextmanager
def served(settings: Mapping[str, object], brokers: int = 1, *, handled: bool = False) -> Iterator[Live]:
    """A `groupsim serve` of so many brokers, while the context lasts. Raises ServeFailed when it does not start.

    `handled`: scripts may handle the brokers; a single one keeps its data, so that it can be started again.
    """
    with ExitStack() as ending:
        if handled and brokers == 1:
            folder = ending.enter_context(tempfile.TemporaryDirectory(prefix="groupsim-kept-"))
            one = ServedOne(lambda asked: Served(*options_of(asked, 1), "--data-dir", folder), settings)
            ending.callback(one.end)
            yield Live(one.addresses, one)
            return
        simulated = ending.enter_context(Served(*options_of(settings, brokers)))
        nodes = ServedNodes(simulated.control, brokers) if handled else None
        yield Live(addresses_of(simulated.bootstrap), nodes)


def options_of(settings: Mapping[str, object], brokers: int) -> list[str]:
    """How `groupsim serve` is told of its brokers."""
    said = [f"{name}={value}" for name, value in settings.items() if name not in WITHOUT]
    profile = ["--api-profile", str(settings[RELEASE])] if RELEASE in settings else []
    return ["--brokers", str(brokers), *profile, *(part for text in said for part in ("--broker", text))]
