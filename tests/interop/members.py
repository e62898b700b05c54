"""A member program as a case sees it: a process that is told things and reports what happened (README.md)."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
import time
from base64 import b64decode, b64encode
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

Partition = tuple[str, int]
Place = tuple[str, int, int]
Event = dict[str, Any]

ANSWER_SECONDS = 90


class Unsupported(Exception):
    """The client does not have what a case asks for; the text is what."""


class MemberError(AssertionError):
    """A member program said or did something wrong; tells its last events and what it wrote to stderr."""


class Record(NamedTuple):
    """One record as it was sent or as it arrived, without its place."""

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()

    def as_json(self, topic: str, partition: int | None) -> dict[str, Any]:
        """What a producer is told to send."""
        headers = [[name, _text(value)] for name, value in self.headers]
        place = {} if partition is None else {"partition": partition}
        return {"topic": topic, **place, "key": _text(self.key), "value": _text(self.value), "headers": headers}


def _text(data: bytes | None) -> str | None:
    return None if data is None else b64encode(data).decode()


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else b64decode(text)


def partitions(rows: Sequence[Sequence[Any]]) -> list[Partition]:
    """`[["t", 0], …]` of an event."""
    return [(str(topic), int(partition)) for topic, partition, *_ in rows]


class Member:
    """One running member program. `name` is its client id."""

    def __init__(self, command: Sequence[str], config: Mapping[str, Any], folder: Path) -> None:
        self.prepare(config, folder / f"{config['client_id']}.stderr")
        with self.stderr.open("ab") as errors:
            self._process = subprocess.Popen(
                [*command, json.dumps(config)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True
            )
        self._reader = threading.Thread(target=self._read, name=f"reads {self.name}", daemon=True)
        self._reader.start()

    def prepare(self, config: Mapping[str, Any], stderr: Path) -> None:
        """Have no events yet."""
        self.name = str(config["client_id"])
        self.config = config
        self.events: list[Event] = []
        self.stderr = stderr
        self._changed = threading.Condition()
        self._ended = False

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            try:
                event = json.loads(line)
            except ValueError:
                event = {"event": "error", "error": f"not JSON: {line.strip()}"}
            self.hear(event)
        self.end()

    def hear(self, event: Event) -> None:
        """Keep an event that its program wrote, with the time."""
        with self._changed:
            self.events.append({**event, "at": time.monotonic()})
            self._changed.notify_all()

    def end(self) -> None:
        """Its program writes no more."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    # --- Telling ---------------------------------------------------------------------------------------------------

    def ask(self, do: str, answer: str, seconds: float = ANSWER_SECONDS, **more: Any) -> Event:
        """Give a command and return the event that answers it. Raises MemberError when none comes, or an error."""
        before = len(self.events)
        self.tell(do, **more)

        def is_answer(event: Event) -> bool:
            return event["event"] == answer or (event["event"] == "error" and event.get("command") == do)

        event = self.wait(is_answer, seconds, f"{answer!r} after {do!r}", start=before)
        if event["event"] == "error":
            raise MemberError(f"{self.name}: {do!r} failed: {event['error']}{self.last()}")
        return event

    def tell(self, do: str, **more: Any) -> None:
        """Give a command without waiting for its answer."""
        assert self._process.stdin is not None
        try:
            print(json.dumps({"do": do, **more}), file=self._process.stdin, flush=True)
        except OSError as error:
            raise MemberError(f"{self.name} ended before {do!r}: {error}{self.last()}") from None

    def send(self, topic: str, records: Sequence[Record], partition: int | None = None) -> dict[Place, Record]:
        """Produce; returns where each record lies."""
        rows = [record.as_json(topic, partition) for record in records]
        answer = self.ask("send", "sent", records=rows, seconds=120)
        return {(t, int(p), int(o)): record for (t, p, o), record in zip(answer["positions"], records, strict=True)}

    def close(self) -> None:
        """An orderly end. Raises MemberError when the process does not end with 0."""
        self.ask("close", "closed")
        code = self._process.wait(60)
        if code:
            raise MemberError(f"{self.name} closed with exit code {code}{self.last()}")

    def pause(self) -> None:
        """Stop the process (SIGSTOP)."""
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let the process go on."""
        self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """SIGKILL; harmless when it has ended."""
        self._process.kill()
        self._process.wait()
        self._reader.join(10)
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            try:
                pipe.close()
            except BrokenPipeError:
                pass

    # --- Listening -------------------------------------------------------------------------------------------------

    def wait(self, wanted: Callable[[Event], bool], seconds: float, what: str, start: int = 0) -> Event:
        """The first event from `start` on that is wanted. Raises MemberError when it does not come."""
        end = time.monotonic() + seconds
        seen = start
        with self._changed:
            while True:
                while seen < len(self.events):
                    event = self.events[seen]
                    seen += 1
                    if wanted(event):
                        return event
                left = end - time.monotonic()
                if self._ended or left <= 0:
                    why = "ended" if self._ended else f"waited {seconds:g} s"
                    raise MemberError(f"{self.name}: no {what} ({why}){self.last()}")
                self._changed.wait(left)

    def ready(self) -> None:
        """Wait until it is. Raises Unsupported when the client cannot do what its config asks for."""
        event = self.wait(lambda event: event["event"] in {"ready", "unsupported"}, 120, "'ready'")
        if event["event"] == "unsupported":
            raise Unsupported(event["what"])

    @property
    def ended(self) -> bool:
        """Whether its process has ended, or closed its output."""
        return self._ended

    @property
    def owned(self) -> frozenset[Partition]:
        """The partitions it owns, as it last said."""
        for event in reversed(self.events):
            if "owned" in event:
                return frozenset(partitions(event["owned"]))
        return frozenset()

    def moves(self, start: int = 0) -> list[tuple[str, list[Partition]]]:
        """What was assigned and revoked, in order, without what was empty."""
        rows = [event for event in self.events[start:] if event["event"] in {"assigned", "revoked"}]
        return [(row["event"], partitions(row["partitions"])) for row in rows if row["partitions"]]

    def consumed(self, start: int = 0) -> Iterator[tuple[Place, Record]]:
        """Every record reported, with its place."""
        for event in self.events[start:]:
            if event["event"] == "consumed":
                headers = tuple((str(name), _bytes(value)) for name, value in event["headers"] or ())
                place = (str(event["topic"]), int(event["partition"]), int(event["offset"]))
                yield place, Record(_bytes(event["key"]), _bytes(event["value"]), headers)

    def last(self) -> str:
        """Its last events and what it wrote to stderr, indented."""
        shown = deque((f"  {_short(event)}" for event in self.events if event["event"] != "consumed"), maxlen=12)
        errors = self.stderr.read_text("utf-8", "replace").strip()[-1500:]
        return "\n" + "\n".join([*shown, *(f"  stderr: {line}" for line in errors.splitlines())])


def _short(event: Event) -> str:
    return json.dumps({key: value for key, value in event.items() if key != "at"})[:400]
