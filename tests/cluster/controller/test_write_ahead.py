"""A stored cluster on a full disk: a change that cannot be stored is not made."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from groupsim.cluster.cluster import Cluster
from groupsim.cluster.controller.controller import WriteFailed
from groupsim.cluster.controller.elections import Election
from groupsim.cluster.controller.journal import Journal
from groupsim.cluster.controller.metadata_store import read
from groupsim.eventloop.trace.sinks import MemorySink
from groupsim.eventloop.trace.trace import Trace
from groupsim.eventloop.virtual import VirtualLoop, run_virtual
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.errors import ErrorCode as E
from groupsim.protocol.messages.admin import (
    SET,
    TOPIC_RESOURCE,
    ConfigsToAlter,
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    IncrementalAlterConfigsRequest,
    MorePartitions,
    NewTopic,
)
from groupsim.protocol.messages.transactions import InitProducerIdRequest
from tests.helpers import kept_writer
from tests.helpers.kept_writer import SECOND, Client

T0 = TopicPartition("t", 0)


class Disk:
    """A disk that is full while the test says so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.full = False
        self.refused = 0
        append = Journal.append

        def may_fail(journal: Journal, change: Any) -> None:
            if self.full:
                self.refused += 1
                raise OSError(28, "No space left on device")
            append(journal, change)

        monkeypatch.setattr(Journal, "append", may_fail)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    """The disk that the cluster is kept on."""
    return Disk(monkeypatch)


Story = Callable[[VirtualLoop, Cluster], Awaitable[None]]


def _live(folder: Path, story: Story) -> list[Any]:
    """One life of a cluster with the topic t; its events."""
    trace, sink = Trace(), MemorySink()
    trace.subscribe(sink)

    async def main(loop: VirtualLoop) -> None:
        cluster = Cluster(loop, kept_writer.config(folder))
        try:
            if "t" not in cluster.controller.image.topics:
                cluster.create_topic("t", 2, replication=3)
            await loop.sleep(SECOND)
            await story(loop, cluster)
        finally:
            cluster.close_files()

    run_virtual(main, seed=3, trace=trace)
    return sink.events


REQUESTS = [
    CreateTopicsRequest((NewTopic("new", 3),)),
    DeleteTopicsRequest(("t",)),
    CreatePartitionsRequest((MorePartitions("t", 5),)),
    IncrementalAlterConfigsRequest((ConfigsToAlter(TOPIC_RESOURCE, "t", (("min.insync.replicas", SET, "2"),)),)),
]


def _error(answer: Any) -> E:
    (one,) = answer.results if hasattr(answer, "results") else answer.topics
    return one.error if hasattr(one, "error") else next(part for part in one if isinstance(part, E))


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda request: type(request).__name__)
def test_what_an_administrator_asks_is_refused_and_nothing_differs(tmp_path: Path, disk: Disk, request_: Any) -> None:
    """The answer is KAFKA_STORAGE_ERROR; image, brokers, disk and trace are unchanged; a later request succeeds."""

    async def story(loop: VirtualLoop, cluster: Cluster) -> None:
        client, before = Client(loop, cluster), cluster.controller.image
        files = {path.name: path.read_bytes() for path in tmp_path.glob("c/cluster-metadata*")}
        disk.full = True
        assert _error(await client.ask(1, request_)) is E.KAFKA_STORAGE_ERROR
        assert cluster.controller.image is before
        assert all(broker.metadata.image is before for broker in cluster.brokers.values())
        assert {path.name: path.read_bytes() for path in tmp_path.glob("c/cluster-metadata*")} == files
        disk.full = False
        assert _error(await client.ask(1, request_)) is E.NONE
        assert cluster.controller.image.version == before.version + 1

    events = _live(tmp_path / "c", story)
    emitted = [event for event in events if event.kind.value == "metadata.changed" and event.t_us > SECOND]
    assert len(emitted) <= 1  # IncrementalAlterConfigs of a topic emits one as well
    (warning,) = [event for event in events if event.kind.value == "warning"]
    assert (warning.host, warning.reason) == (
        "controller",
        "nothing was changed, for it cannot be kept: No space left on device",
    )


def test_a_topic_that_was_refused_gets_the_id_it_would_have_had(tmp_path: Path, disk: Disk) -> None:
    """A refused change draws nothing: a run with one continues like the run without."""
    ids = []
    for number, full in enumerate((False, True)):

        async def story(loop: VirtualLoop, cluster: Cluster, full: bool = full) -> None:
            disk.full = full
            if full:
                with pytest.raises(WriteFailed, match="Make room, and try again"):
                    cluster.create_topic("new", 3)
            disk.full = False
            cluster.create_topic("new", 3)
            topic = cluster.controller.image.topics["new"]
            ids.append((topic.topic_id, topic.partitions))

        _live(tmp_path / f"c{number}", story)
    assert ids[0] == ids[1]


def test_a_broker_that_died_is_fenced_when_that_can_be_kept(tmp_path: Path, disk: Disk) -> None:
    """A lost session cannot be acted on while the disk is full; it is, a second after there is room."""

    async def story(loop: VirtualLoop, cluster: Cluster) -> None:
        disk.full = True
        cluster.crash_broker(1)
        await loop.sleep(30 * SECOND)
        assert cluster.controller.image.is_up(1)
        assert 10 < disk.refused < 40
        disk.full = False
        await loop.sleep(2 * SECOND)
        assert not cluster.controller.image.is_up(1)
        state = cluster.controller.image.partition(T0)
        assert state is not None
        assert 1 not in state.isr

    _live(tmp_path / "c", story)


def test_a_broker_that_comes_back_is_registered_when_that_can_be_kept(tmp_path: Path, disk: Disk) -> None:
    """A registration that was refused left no trace: the next one gets a new epoch, and the broker serves again."""

    async def story(loop: VirtualLoop, cluster: Cluster) -> None:
        epoch = cluster.controller.image.brokers[1].epoch
        cluster.crash_broker(1)
        await loop.sleep(20 * SECOND)
        disk.full = True
        cluster.restart_broker(1)
        await loop.sleep(20 * SECOND)
        assert not cluster.controller.image.is_up(1)
        disk.full = False
        await loop.sleep(40 * SECOND)
        assert cluster.controller.image.is_up(1)
        assert cluster.controller.image.brokers[1].epoch > epoch
        state = cluster.controller.image.partition(T0)
        assert state is not None
        assert 1 in state.isr

    _live(tmp_path / "c", story)
    assert read(tmp_path / "c").incarnations[1] == 1


def test_a_reassignment_that_was_refused_is_not_under_way(tmp_path: Path, disk: Disk) -> None:
    """Neither the partition nor the list of reassignments knows of it; an election is refused likewise."""

    async def story(loop: VirtualLoop, cluster: Cluster) -> None:
        cluster.create_topic("moved", 1, assignment=[[0, 1]])
        where, controller = TopicPartition("moved", 0), cluster.controller
        await loop.sleep(SECOND)
        before = controller.image
        disk.full = True
        with pytest.raises(WriteFailed):
            controller.reassign(where, [2, 1])
        assert (controller.image, dict(controller.reassignments)) == (before, {})
        disk.full = False
        controller.move_leader(where, 1)
        moved = controller.image
        controller.reassign(where, [0, 1])
        disk.full = True
        with pytest.raises(WriteFailed):
            controller.elect_leaders(Election.PREFERRED, [where])
        assert controller.image.version == moved.version + 1

    _live(tmp_path / "c", story)


def test_no_producer_id_is_given_that_is_not_kept(tmp_path: Path, disk: Disk) -> None:
    """InitProducerId is answered COORDINATOR_LOAD_IN_PROGRESS, as in Kafka without a block of ids; clients retry."""

    async def story(loop: VirtualLoop, cluster: Cluster) -> None:
        client = Client(loop, cluster)
        await client.coordinator("tx", 1)
        await loop.sleep(SECOND)
        disk.full = True
        assert (await client.ask(0, InitProducerIdRequest(None))).error is E.COORDINATOR_LOAD_IN_PROGRESS
        at = await client.coordinator("tx", 1)
        assert (await client.ask(at, InitProducerIdRequest("tx"))).error is E.COORDINATOR_LOAD_IN_PROGRESS
        disk.full = False
        ids = [
            (await client.ask(node, InitProducerIdRequest(name))).producer_id for node, name in ((0, None), (at, "tx"))
        ]
        assert sorted(ids) == [0, 1_000] or sorted(ids) == [0, 1]
        assert read_next(tmp_path) > max(ids)

    _live(tmp_path / "c", story)


def read_next(folder: Path) -> int:
    """The first producer id that the next life may give."""
    return read(folder / "c").next_producer_id


def test_a_really_full_disk(tmp_path: Path) -> None:
    """A limit on the size of files, set by the system: the same refusal, and the next life goes on."""
    import resource
    import signal

    async def story(loop: VirtualLoop, cluster: Cluster) -> None:
        client = Client(loop, cluster)
        before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        size = os.path.getsize(tmp_path / "c" / "cluster-metadata.changes")
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 40, limits[1]))
        try:
            answer = await client.ask(0, REQUESTS[0])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
            signal.signal(signal.SIGXFSZ, before)
        assert _error(answer) is E.KAFKA_STORAGE_ERROR
        assert os.path.getsize(tmp_path / "c" / "cluster-metadata.changes") == size
        assert _error(await client.ask(0, REQUESTS[2])) is E.NONE

    async def look(loop: VirtualLoop, cluster: Cluster) -> None:
        assert "new" not in cluster.controller.image.topics
        assert len(cluster.controller.image.topics["t"].partitions) == 5

    _live(tmp_path / "c", story)
    _live(tmp_path / "c", look)
