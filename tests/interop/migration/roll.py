"""The story with real processes, on a peer of the interoperability suite."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaError, Message, Producer

from tests.interop.bench import Bench, until
from tests.interop.clients import CONFLUENT, JAVA
from tests.interop.members import Event, Member, MemberError, partitions
from tests.interop.migration import story
from tests.interop.migration.jvm import Jvm
from tests.interop.migration.ownership import Change, Gap, gaps, longest, total
from tests.interop.migration.story import CLASSIC, PODS, ROLLS, SCHEDULE, Close, Found, Pod
from tests.interop.peers import Peer

SETTLES_S = 180.0
KINDS = {CLASSIC: "CLASSIC", story.CONSUMER: "CONSUMER"}


def rolled(peer: Peer, folder: Path, number: int, say: Callable[[str], None]) -> Found:
    """Play the story once. Raises MemberError when the group does not form, or a member program fails to start."""
    with ExitStack() as stack:
        bench = stack.enter_context(Bench(CONFLUENT, peer, f"migration-{number}", folder))
        jvm = Jvm(JAVA.command(), folder)
        stack.callback(jvm.kill)
        group = _Group(bench, jvm, bench.topic(story.PARTITIONS, 1))
        group.warm()
        formed = group.form()
        began = formed + story.FORMED_S
        with _load(peer.bootstrap, group.topic) as acknowledged:
            for protocol in ROLLS:
                late = group.roll(formed, [close for close in SCHEDULE if close.protocol == protocol])
                group.settle(KINDS[protocol])
                say(f"rolled to {protocol} in {time.monotonic() - began:.0f} s, at most {late:.2f} s late")
        group.read_to_the_end(acknowledged)
        for line in group.account(began):
            say(line)
        return group.found(acknowledged, began)


class _Group:
    """The pods of one run: the process of each that works, and every process that there was."""

    def __init__(self, bench: Bench, jvm: Jvm, topic: str) -> None:
        self.topic = topic
        self._jvm = jvm
        self._bench = bench
        self._working: dict[str, Member] = {}
        self._everyone: list[tuple[Pod, Member]] = []
        self._asked: set[int] = set()

    # --- Processes -------------------------------------------------------------------------------------------------

    def _start(self, pod: Pod, protocol: str, group: str = "") -> Member:
        """A process of a pod, that has not subscribed; of the group of the pods where no other is given."""
        config = {
            "role": "consumer",
            "bootstrap": self._bench.peer.bootstrap,
            "client_id": pod.name,
            "group": group or self._bench.group,
            "topics": [self.topic],
            "assignor": "range" if protocol == CLASSIC else "server:uniform",
            "instance_id": pod.name if pod.static else None,
            "session_timeout_ms": story.SESSION_MS,
            "heartbeat_interval_ms": story.HEARTBEAT_MS,
            "rebalance_timeout_ms": 300_000,
            "hold": True,
        }
        if pod.client == story.JAVA:
            member: Member = self._jvm.start(config)
        else:
            member = Member(CONFLUENT.command(), config, self._bench.folder)
        self._bench.members.append(member)
        if not group:
            self._everyone.append((pod, member))
        return member

    def warm(self) -> None:
        """Let a consumer of either protocol come and go in the JVM, in groups of their own: it loads classes once."""
        for protocol in ROLLS:
            pod = Pod(f"warm-{protocol}", story.JAVA, static=False)
            member = self._start(pod, protocol, group=f"{self._bench.group}-{pod.name}")
            member.ready()
            member.tell("subscribe")
            member.wait(lambda event: event["event"] == "assigned", story.SESSION_MS / 1_000, "'assigned'")
            member.ask("close", "closed")

    def form(self) -> float:
        """Start all pods with the classic protocol, wait until they share the topic, and return since when they do."""
        members = [(pod, self._start(pod, CLASSIC)) for pod in PODS]
        for pod, member in members:
            member.ready()
            member.tell("subscribe")
            self._working[pod.name] = member
        self.settle(KINDS[CLASSIC])
        return max(event["at"] for _, member in members for event in member.events if event["event"] == "assigned")

    def settle(self, kind: str) -> None:
        """Wait until the group is of that kind and shares the topic evenly; with a dead pod it cannot."""
        if any(reason for _, member in self._everyone for reason in self._deaths(member)):
            return
        self._bench.stable(self.topic, self._working.values(), story.PARTITIONS)
        until(lambda: self._bench.kind() == kind, f"the group's kind is {kind}", self._bench.told, SETTLES_S)

    def roll(self, formed: float, closes: Sequence[Close]) -> float:
        """Replace each pod at its instant; return by how much the latest close was late.

        A process is made one pod ahead, so that how fast it starts does not matter.
        """
        late = 0.0
        coming = self._start(closes[0].pod, closes[0].protocol)
        coming.ready()
        for close, following in zip(closes, (*closes[1:], None), strict=True):
            _sleep_until(formed + close.after_s)
            late = max(late, time.monotonic() - formed - close.after_s)
            leaving, successor = self._working[close.pod.name], coming
            self._asked.add(id(leaving))
            released = _closed(leaving)
            if following is not None:
                coming = self._start(following.pod, following.protocol)
            _sleep_until(released + story.DOWN_S)
            successor.tell("subscribe")
            self._working[close.pod.name] = successor
            if following is not None:
                coming.ready()
        return late

    # --- What is found ---------------------------------------------------------------------------------------------

    def read_to_the_end(self, acknowledged: set[tuple[int, int]]) -> None:
        """Wait until all that was acknowledged is consumed, or for a while."""
        try:
            until(lambda: not acknowledged - self._consumed(), "all is consumed", seconds=30)
        except MemberError:
            pass  # what is missing is counted

    def _consumed(self) -> set[tuple[int, int]]:
        return {
            (int(event["partition"]), int(event["offset"]))
            for _, member in self._everyone
            for event in list(member.events)
            if event["event"] == "consumed"
        }

    def account(self, began: float) -> Iterator[str]:
        """The three longest gaps, each with what the process that released the partition did, and its successor."""
        for gap in self._gaps()[:3]:
            said = [
                f"{event['at'] - gap.began:+.2f} {event['event']}"
                for pod, member in self._everyone
                if pod.name == gap.released_by
                for event in list(member.events)
                if event["event"] != "consumed" and abs(event["at"] - gap.began) < gap.seconds + 5
            ]
            yield f"{gap.partition} {gap.seconds:.2f} s from {gap.began - began:.1f}, {gap.released_by}: {said}"

    def _gaps(self) -> list[Gap]:
        changes = [change for pod, member in self._everyone for change in _changes(pod, list(member.events))]
        return gaps(changes, time.monotonic())

    def found(self, acknowledged: set[tuple[int, int]], began: float) -> Found:
        """The measures of the run."""
        stood = self._gaps()
        return Found(
            longest(stood, began, (pod.name for pod in PODS)),
            longest(stood, began, (pod.name for pod in PODS if not pod.static)),
            total(stood, began),
            len(acknowledged - self._consumed()),
            tuple(f"{pod.name}: {why}" for pod, member in self._everyone for why in self._deaths(member)),
        )

    def _deaths(self, member: Member) -> Iterator[str]:
        """Why a process counts as dead: it ended unasked, or its client says that it is out for good."""
        if member.ended and id(member) not in self._asked:
            yield "ended"
        for event in list(member.events):
            if event["event"] == "error" and any(word in event["error"] for word in ("_FATAL", "Fenced", "Unreleased")):
                yield str(event["error"])


def _closed(member: Member) -> float:
    """Close a process; returns when it released its partitions, in seconds of the monotonic clock."""
    before = len(member.events)
    closed = member.ask("close", "closed", seconds=60)
    released = (event for event in member.events[before:] if event["event"] == "revoked")
    return float(next(released, closed)["at"])


def _changes(pod: Pod, events: list[Event]) -> Iterator[Change]:
    for event in events:
        if event["event"] in {"assigned", "revoked"}:
            for place in partitions(event["partitions"]):
                yield Change(event["at"], pod.name, place, event["event"] == "assigned")


@contextmanager
def _load(bootstrap: str, topic: str) -> Iterator[set[tuple[int, int]]]:
    """A producer that sends a record to every partition each turn; the block gets what is acknowledged."""
    acknowledged: set[tuple[int, int]] = set()
    over = threading.Event()

    def delivered(failed: KafkaError | None, message: Message) -> None:
        if failed is None:
            acknowledged.add((int(message.partition() or 0), int(message.offset() or 0)))

    settings: dict[str, Any] = {
        "bootstrap.servers": bootstrap,
        "enable.idempotence": True,
        "linger.ms": 5,
        "log_level": 0,
    }
    producer = Producer(settings)

    def send() -> None:
        turn = 0
        while not over.wait(story.TURN_S):
            turn += 1
            for partition in range(story.PARTITIONS):
                producer.produce(topic, f"turn {turn}".encode(), partition=partition, on_delivery=delivered)
            producer.poll(0)

    sender = threading.Thread(target=send, name="load")
    sender.start()
    try:
        yield acknowledged
    finally:
        over.set()
        sender.join()
        producer.flush(60)


def _sleep_until(instant: float) -> None:
    time.sleep(max(0.0, instant - time.monotonic()))
