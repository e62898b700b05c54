"""A process of the scenario over its restarts, with its supervisor and its garbage collection pauses.

Subclasses run a consumer (`member_process`) or a producer (`producers`). A task that waits for the end of a
pause, or before a restart, belongs to one start of the process, and does nothing after the next.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable

from groupsim.eventloop.interface import EventLoop
from groupsim.members.consumer.consumer import Consumer
from groupsim.members.producer.producer import Producer
from groupsim.scenarios.language.model import MemberSpec, ProducerSpec


class Process(ABC):
    """One process: its name, its settings, and its client."""

    def __init__(
        self, loop: EventLoop, name: str, spec: MemberSpec | ProducerSpec, client: Consumer | Producer
    ) -> None:
        self.loop = loop
        self.name = name  #: name of the process and of its host
        self._spec = spec
        self._client = client
        self._lives = 0
        self._pauses = loop.stream("pauses", name)

    @property
    def running(self) -> bool:
        """Whether the process runs."""
        return self._client.running

    @property
    def has_run(self) -> bool:
        """Whether the process was ever started."""
        return self._lives > 0

    def start(self) -> None:
        """Start the process, unless it runs."""
        if self.running:
            return
        self._lives += 1
        self._begin()
        self._plan_pause(self._lives)
        if self._spec.restart_after is not None:
            self._start_task(self._supervise, "supervisor")

    @abstractmethod
    def _begin(self) -> None:
        """Start the clients of the process."""

    @abstractmethod
    def crash(self) -> None:
        """Kill the process."""

    def kill_after(self, us: int) -> None:
        """Kill this life of the process unless it has ended by then, as a supervisor does."""
        self.loop.call_at(self.loop.now_us + us, self._kill, self._lives)

    def _kill(self, life: int) -> None:
        if life == self._lives and self.running:
            self.crash()

    @abstractmethod
    def pause(self, us: int) -> None:
        """Pause the whole process."""

    def _start_task(self, task: Callable[[int], Awaitable[None]], what: str) -> None:
        self.loop.host("scenario").start_soon(task, self._lives, name=f"{what} of {self.name}")

    async def _supervise(self, life: int) -> None:
        """Restart the process if it fails, but not after a stop or a crash by the scenario."""
        await self._client.ended()
        if self._client.state == "FAILED" and self._lives == life and self._spec.restart_after is not None:
            await self.loop.sleep(self._spec.restart_after)
            if self._lives == life:
                self.start()

    def _plan_pause(self, life: int) -> None:
        pauses = self._spec.pauses
        if pauses is not None and life == self._lives and self.running:
            after = max(pauses.every.draw(self._pauses), 1)
            self.loop.call_at(self.loop.now_us + after, self._pause_now, life)

    def _pause_now(self, life: int) -> None:
        pauses = self._spec.pauses
        if pauses is None or life != self._lives or not self.running:
            return
        length = pauses.length.draw(self._pauses)
        self.pause(length)
        self.loop.call_at(self.loop.now_us + length, self._plan_pause, life)
