"""The brokers that the suite starts and reaches over sockets: a real cluster, or a `groupsim serve`."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from attrs import frozen

from groupsim.control import Served
from tests.conformance.nodes import Nodes, RealNodes, ServedNodes
from tests.conformance.peers import Address
from tests.conformance.servers import KafkaBroker

WITHOUT = frozenset({"auto.create.topics.enable", "authorizer.class.name", "allow.everyone.if.no.acl.found"})
"""What the simulated broker has no setting for: it makes no topic that nobody asked for, and has no authorizer."""


def ended_in_order() -> None:
    """A SIGTERM from now on ends this process as ctrl-C does, so that the brokers it has started are stopped too."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs have it ignored
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))


@frozen
class Live:
    """Where a cluster listens, by node; `nodes` handles them where there are several."""

    addresses: tuple[Address, ...]
    nodes: Nodes | None = None


def addresses_of(bootstrap: str) -> tuple[Address, ...]:
    """`host:port,host:port` as pairs."""
    pairs = (text.rpartition(":") for text in bootstrap.split(","))
    return tuple((host, int(port)) for host, _, port in pairs)


@contextmanager
def real(settings: Mapping[str, object], brokers: int = 1) -> Iterator[Live]:
    """A real cluster of so many nodes, while the context lasts. Raises what `KafkaBroker` raises."""
    with KafkaBroker(brokers, settings) as kafka:
        yield Live(addresses_of(kafka.bootstrap), RealNodes(kafka) if brokers > 1 else None)


@contextmanager
def served(settings: Mapping[str, object], brokers: int = 1) -> Iterator[Live]:
    """A `groupsim serve` of so many brokers, while the context lasts. Raises ServeFailed when it does not start."""
    said = [f"{name}={value}" for name, value in settings.items() if name not in WITHOUT]
    options = [part for text in said for part in ("--broker", text)]
    with Served("--brokers", str(brokers), *options) as simulated:
        yield Live(addresses_of(simulated.bootstrap), ServedNodes(simulated.control, brokers) if brokers > 1 else None)
