"""A fault that was begun over the control port."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Any

from groupsim.control.transport import Transport


class Fault:
    """A handle of it; in a `with` block it is ended at the end. `seen`, `hits` and `over` ask the port each time."""

    def __init__(self, transport: Transport, document: Mapping[str, Any]) -> None:
        self._transport = transport
        self.id = str(document["id"])
        self.document = document

    def refresh(self) -> Mapping[str, Any]:
        """The fault as it is now."""
        self.document = self._transport.json("GET", f"/faults/{self.id}")
        return self.document

    @property
    def seen(self) -> int | None:
        """How many requests or connections matched; None when nobody counts."""
        seen: int | None = self.refresh()["seen"]
        return seen

    @property
    def hits(self) -> int | None:
        """How many it struck; None when nobody counts."""
        hits: int | None = self.refresh()["hits"]
        return hits

    @property
    def over(self) -> bool:
        """Whether it has ended."""
        return bool(self.refresh()["over"])

    def await_hits(self, hits: int = 1, timeout: str = "30s") -> Fault:
        """Wait until it has struck so often. Raises TimedOut."""
        query = {"hits": hits, "timeout": timeout}
        self.document = self._transport.json("GET", f"/faults/{self.id}/await", query)
        return self

    def end(self) -> Fault:
        """End it; what it held back goes out. Ending it twice does nothing."""
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
