"""`groupsim serve` as a peer: three brokers on free ports, moved by the control port."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from confluent_kafka.admin import AdminClient

from groupsim.control import Served


class Groupsim:
    """A served cluster."""

    name = "groupsim"

    def __init__(self, process: Served) -> None:
        self._process = process
        self.bootstrap = process.bootstrap

    def move_coordinator(self, group: str, admin: AdminClient) -> None:
        """Another broker leads the group's partition of the offsets topic."""
        self._process.control.move_coordinator(group)

    def settle(self) -> None:
        """Nothing to undo."""

    def told(self) -> str:
        """The end of its log."""
        return self._process.log[-3000:]


@contextmanager
def served(settings: Mapping[str, object], brokers: int = 3) -> Iterator[Groupsim]:
    """A served cluster with these broker settings while the block lasts."""
    said = [word for name, value in settings.items() for word in ("--broker", f"{name}={value}")]
    with Served("--brokers", str(brokers), *said) as process:
        yield Groupsim(process)
