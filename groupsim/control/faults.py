"""A fault that was started over the control port."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Any

from groupsim.control.transport import Transport


class Fault:
    """A handle of a fault; a `with` block ends it. `seen`, `hits` and `over` send a request each time."""

    def __init__(self, transport: Transport, document: Mapping[str, Any]) -> None:
        self._transport = transport
        self.id = str(document["id"])
        self.document = document

    def refresh(self) -> Mapping[str, Any]:
        """Return the present document of the fault."""
        self.document = self._transport.json("GET", f"/faults/{self.id}")
        return self.document

    @property
    def seen(self) -> int | None:
        """The number of requests or connections that matched; None for faults without a count."""
        seen: int | None = self.refresh()["seen"]
        return seen

    @property
    def hits(self) -> int | None:
        """The number of requests or connections that it affected; None for faults without a count."""
        hits: int | None = self.refresh()["hits"]
        return hits

    @property
    def over(self) -> bool:
        """Whether the fault has ended."""
        return bool(self.refresh()["over"])

    def await_hits(self, hits: int = 1, timeout: str = "30s") -> Fault:
        """Wait until the fault has this number of hits. Raises TimedOut."""
        query = {"hits": hits, "timeout": timeout}
        self.document = self._transport.json("GET", f"/faults/{self.id}/await", query)
        return self

    def end(self) -> Fault:
        """End the fault and release held responses. A second call has no effect."""
        self.document = self._transport.json("DELETE", f"/faults/{self.id}")
        return self

    release = end

    def __enter__(self) -> Fault:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.end()

    def __repr__(self) -> str:
        return f"<fault {self.id}: {self.document['fault']}>"
