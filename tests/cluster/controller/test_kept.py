"""A cluster that is kept in a folder, and goes on in another process."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Awaitable, Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from groupsim.cluster.cluster import Cluster
from groupsim.cluster.config.cluster import ClusterConfig
from groupsim.cluster.controller.metadata_store import FILE, Folder, read
from groupsim.cluster.log.files.data_dir import DataDirRefused
from groupsim.eventloop.virtual import VirtualLoop, run_virtual
from groupsim.protocol.basics import TopicPartition
from groupsim.protocol.messages.admin import (
    DELETE,
    GROUP_RESOURCE,
    SET,
    TOPIC_RESOURCE,
    ConfigsToAlter,
    IncrementalAlterConfigsRequest,
)
from groupsim.protocol.messages.cluster import TopicState
from groupsim.protocol.messages.group import OffsetFetchRequest
from groupsim.protocol.messages.transactions import InitProducerIdRequest
from tests.helpers import kept_writer
from tests.helpers.kept_writer import SECOND, Client

Story = Callable[[VirtualLoop, Cluster], Awaitable[Any]]
T0 = TopicPartition("t", 0)


def _live(config: ClusterConfig, story: Story, *, seed: int = 0) -> Any:
    """Run one life of a cluster and return the story's result."""
    found: list[Any] = []

    async def main(loop: VirtualLoop) -> None:
        cluster = Cluster(loop, config)
        try:
            found.append(await story(loop, cluster))
        finally:
            cluster.close_files()

    run_virtual(main, seed=seed)
    return found[0]


async def _identity(loop: VirtualLoop, cluster: Cluster) -> Any:
    if "t" not in cluster.controller.image.topics:
        cluster.create_topic("t", 3, replication=3, config={"retention.ms": "-1"})
    await loop.sleep(SECOND)
    image = cluster.controller.image
    topic = image.topics["t"]
    epochs = [broker.epoch for broker in image.brokers.values()]
    return cluster.cluster_id, topic.topic_id, dict(topic.config), topic.partitions[0].leader_epoch, epochs


def test_a_cluster_goes_on_with_its_identity_and_its_epochs_go_up(tmp_path: Path) -> None:
    """Cluster id, topics, ids and settings are those of before, every epoch is higher; another seed changes nothing."""
    config = kept_writer.config(tmp_path / "c")
    lives = [_live(config, _identity, seed=seed) for seed in (1, 1, 2)]
    assert len({life[:2] for life in lives}) == 1
    assert [life[2] for life in lives] == [{"retention.ms": "-1"}] * 3
    assert [life[3] for life in lives] == [0, 1, 2]
    for before, after in pairwise(lives):
        assert min(after[4]) > max(before[4])


def test_a_fresh_cluster_has_ids_of_its_own(tmp_path: Path) -> None:
    """Another seed, another cluster id and other topic ids; ids have Kafka's 22 characters."""
    first = _live(kept_writer.config(tmp_path / "a"), _identity, seed=1)
    second = _live(kept_writer.config(tmp_path / "b"), _identity, seed=2)
    assert first[0] != second[0]
    assert first[1] != second[1]
    assert len(first[0]) == len(first[1]) == 22


def test_ids_are_not_drawn_twice(tmp_path: Path) -> None:
    """With the same seed a later life draws other topic ids, and its brokers have incarnations they never had."""

    async def story(loop: VirtualLoop, cluster: Cluster) -> Any:
        name = f"t{len(cluster.controller.image.topics)}"
        cluster.create_topic("again", 1)
        made = cluster.controller.image.topics["again"].topic_id
        cluster.delete_topic("again")
        cluster.create_topic(name, 1)
        await loop.sleep(SECOND)
        cluster.crash_broker(1)
        cluster.restart_broker(1)
        await loop.sleep(SECOND * 20)
        return made, cluster.brokers[1].host.incarnation

    config = kept_writer.config(tmp_path / "c")
    (first, one), (second, two) = (_live(config, story, seed=5) for _ in range(2))
    assert first != second
    assert (one, two) == (1, 3)


def test_settings_changed_while_it_ran_hold_in_the_next_life(tmp_path: Path) -> None:
    """The next life has the settings of IncrementalAlterConfigs, in the logs too, without a group's removed ones."""

    async def change(loop: VirtualLoop, cluster: Cluster) -> None:
        cluster.create_topic("t", 1)
        changes = (ConfigsToAlter(TOPIC_RESOURCE, "t", (("min.insync.replicas", SET, "2"),)),)
        client, reset = Client(loop, cluster), "share.auto.offset.reset"
        await client.ask(0, IncrementalAlterConfigsRequest(changes))
        of_groups = tuple(ConfigsToAlter(GROUP_RESOURCE, name, ((reset, SET, "earliest"),)) for name in ("g", "h"))
        await client.ask(0, IncrementalAlterConfigsRequest(of_groups))
        await client.ask(
            0, IncrementalAlterConfigsRequest((ConfigsToAlter(GROUP_RESOURCE, "h", ((reset, DELETE, None),)),))
        )

    async def look(loop: VirtualLoop, cluster: Cluster) -> int:
        await loop.sleep(SECOND)
        assert cluster.controller.image.groups == {"g": {"share.auto.offset.reset": "earliest"}}
        return cluster.log("t", 0).config.min_insync_replicas

    config = kept_writer.config(tmp_path / "c")
    _live(config, change)
    assert _live(config, look) == 2


# --- kill -9 -------------------------------------------------------------------------------------------------------


def _killed_after(folder: Path, lines: int, what: str = "records") -> list[list[Any]]:
    """Return the lines that a writer had acknowledged when it was killed."""
    command = [sys.executable, kept_writer.__file__, str(folder), what]
    writer = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    lines_read = [writer.stdout.readline() for _ in range(lines)]
    writer.kill()
    rest, _ = writer.communicate(timeout=60)
    whole = [line for line in (*lines_read, *rest.splitlines(keepends=True)) if line.endswith("\n")]
    return [json.loads(line) for line in whole]


async def _everything(loop: VirtualLoop, cluster: Cluster) -> Any:
    """All records by partition and offset, all commits of the group, the next epoch of the transactional id."""
    await loop.sleep(2 * SECOND)
    client = Client(loop, cluster)
    records = {}
    for number in range(3):
        for batch in cluster.log("t", number).read(0, 1 << 30):
            for record in batch.records or ():
                assert record.value is not None
                records[number, batch.base_offset + record.offset_delta] = record.value.decode()
    fetched = await client.until_fine(await client.coordinator("g"), OffsetFetchRequest("g"))
    commits = {one.partition.partition: one.offset for one in fetched.offsets}
    got = await client.until_fine(await client.coordinator("tx", 1), InitProducerIdRequest("tx"))
    fresh = await client.ask(0, InitProducerIdRequest(None))
    return records, commits, (got.producer_id, got.producer_epoch), fresh.producer_id


def test_what_the_controller_decided_outlives_kill_9(tmp_path: Path) -> None:
    """Topics made, grown, changed and deleted, leaders moved: each kill keeps them, and no epoch goes back.

    A new image is written every few changes here, so that kills strike then, too.
    """
    folder = tmp_path / "c"
    acknowledged: dict[str, list[Any]] = {}
    version = 0
    for lines in (40, 11, 70, 33):
        last = ""
        for _, now, last, *state in _killed_after(folder, lines, "topics"):
            version, acknowledged[last] = now, state
        kept = read(folder)
        assert kept.image.version >= version
        found = {name: _state_of(topic) for name, topic in kept.image.topics.items() if name != "__consumer_offsets"}
        if last in found and acknowledged[last]:  # the next decision may be stored, though it was not acknowledged
            assert found[last][-1] >= acknowledged[last][-1]
        acknowledged.pop(last)
        found.pop(last, None)
        unacknowledged = found.keys() - acknowledged.keys()
        assert len(unacknowledged) <= 1
        assert {name: found[name] for name in found if name in acknowledged} == {
            n: state for n, state in acknowledged.items() if state
        }
        acknowledged.update({name: found[name] for name in unacknowledged})
        acknowledged = {name: _in_the_next_life(state) for name, state in acknowledged.items()}
        assert len(list(folder.glob("cluster-metadata*"))) == 2


def _state_of(topic: TopicState) -> list[Any]:
    first = topic.partitions[0]
    own = [topic.topic_id, len(topic.partitions), topic.config["retention.ms"]]
    return [*own, first.leader, first.leader_epoch, first.partition_epoch]


def _in_the_next_life(state: list[Any]) -> list[Any]:
    return state and [*state[:-2], state[-2] + 1, state[-1] + 1]


def test_what_was_acknowledged_outlives_kill_9(tmp_path: Path) -> None:
    """Records (acks 1 and all), commits, producer ids and epochs: after each of three kills all of them are there."""
    folder = tmp_path / "c"
    acknowledged: list[list[Any]] = []
    for lines in (60, 25, 90):
        acknowledged += _killed_after(folder, lines)
        records, commits, (producer, epoch), fresh = _live(kept_writer.config(folder), _everything)
        for _, number, offset, value in (line for line in acknowledged if line[0] == "produced"):
            assert records[number, offset] == value
        ids = [line[1:] for line in acknowledged if line[0] == "id"]
        last = {number: offset for _, number, offset in (line for line in acknowledged if line[0] == "committed")}
        assert all(commits[number] >= offset for number, offset in last.items())
        assert producer == ids[-1][0]
        assert epoch > ids[-1][1]
        assert fresh > max(one for one, _ in ids)


# --- folders that are refused --------------------------------------------------------------------------------------


def _refused(config: ClusterConfig) -> str:
    with pytest.raises(DataDirRefused) as refused:
        _live(config, _identity)
    return str(refused.value)


def test_a_damaged_file_is_an_error_and_stays_as_it_is(tmp_path: Path) -> None:
    """A flipped byte, a torn file, an empty one, a missing one: an error with a remedy, and no new cluster."""
    config = kept_writer.config(tmp_path / "c")
    _live(config, _identity)
    path = tmp_path / "c" / FILE
    whole = path.read_bytes()
    for damaged in (whole[:-40] + b"7" + whole[-39:], whole[: len(whole) // 2], b"", b"{}"):
        path.write_bytes(damaged)
        words = _refused(config)
        assert str(path) in words
        assert "empty the folder" in words
        assert path.read_bytes() == damaged
    path.unlink()
    assert "is missing, and broker-0, broker-1, broker-2 hold logs" in _refused(config)
    path.write_bytes(whole)
    assert _live(config, _identity)[3] == 1


def test_another_format_another_size_and_another_number_of_partitions_are_refused(tmp_path: Path) -> None:
    """The folder of another cluster is recognised before any file is changed."""
    config = kept_writer.config(tmp_path / "c")
    _live(config, _identity)
    assert "has 3 brokers, and 5 are asked for; start it with 3" in _refused(evolve(config, brokers=5))
    more = evolve(config.coordinator, offsets_topic_num_partitions=50)
    assert "set it to 4" in _refused(evolve(config, coordinator=more))
    path = tmp_path / "c" / FILE
    path.write_bytes(path.read_bytes().replace(b" 2 ", b" 3 ", 1))
    assert "format 3, and this release reads up to 2" in _refused(config)


def test_two_clusters_do_not_share_a_folder(tmp_path: Path) -> None:
    """A folder in use is refused, and free again when the first cluster has closed it."""
    config = kept_writer.config(tmp_path / "c")

    async def story(_: VirtualLoop, __: Cluster) -> str:
        return ""

    async def main(loop: VirtualLoop) -> None:
        first = Cluster(loop, config)
        with pytest.raises(DataDirRefused, match="another process uses this folder"):
            Cluster(loop, config)
        first.close_files()

    run_virtual(main)
    assert _live(config, story) == ""


def test_a_folder_of_a_deleted_topic_is_put_aside(tmp_path: Path) -> None:
    """A log that a kill left behind is not taken for the new topic of the same name."""
    config = kept_writer.config(tmp_path / "c")

    async def fill(loop: VirtualLoop, cluster: Cluster) -> str:
        cluster.create_topic("t", 1, rate=10, assignment=[[1]])
        await loop.sleep(SECOND)
        return cluster.controller.image.topics["t"].topic_id

    old = _live(config, fill)
    kept = read(tmp_path / "c")
    topics = {name: topic for name, topic in kept.image.topics.items() if name != "t"}
    folder = Folder(tmp_path / "c", range(3))
    folder.begin(evolve(kept, image=evolve(kept.image, topics=topics)))
    folder.close()

    async def next_life_reads(loop: VirtualLoop, cluster: Cluster) -> int:
        cluster.create_topic("t", 1, assignment=[[1]])
        await loop.sleep(SECOND)
        return cluster.log("t", 0).end_offset

    assert _live(config, next_life_reads) == 0
    assert list((tmp_path / "c").glob(f"broker-1/t-0.{old}-stray/*.log"))


def _folders(path: Path) -> set[str]:
    return {re.sub(r"\.[0-9a-f]{32}-", ".<uuid>-", one.name) for one in path.glob("c/broker-*/*-*") if one.is_dir()}


def test_a_deleted_topics_folders_are_renamed_at_once_and_removed_later(tmp_path: Path) -> None:
    """A minute later, by default; a topic made again in between has folders of its own."""
    config = kept_writer.config(tmp_path / "c")
    offsets = {f"__consumer_offsets-{number}" for number in range(4)}

    async def story(loop: VirtualLoop, cluster: Cluster) -> None:
        cluster.create_topic("a.b", 2, replication=3, rate=10)
        await loop.sleep(SECOND)
        assert _folders(tmp_path) == offsets | {"a.b-0", "a.b-1"}
        cluster.delete_topic("a.b")
        await loop.sleep(SECOND)
        gone = {"a.b-0.<uuid>-delete", "a.b-1.<uuid>-delete"}
        assert _folders(tmp_path) == offsets | gone
        assert len(list((tmp_path / "c").glob("broker-*/a.b-0.*-delete/*.log"))) == 3
        cluster.create_topic("a.b", 1)
        await loop.sleep(58 * SECOND)
        assert _folders(tmp_path) == offsets | gone | {"a.b-0"}
        await loop.sleep(2 * SECOND)
        assert _folders(tmp_path) == offsets | {"a.b-0"}
        assert cluster.log("a.b", 0).end_offset == 0

    _live(config, story)


def test_what_a_process_had_deleted_is_removed_when_the_next_one_begins(tmp_path: Path) -> None:
    """It ended before the delay was over; and what it had not renamed yet is put aside, or removed if it is empty."""
    config = kept_writer.config(tmp_path / "c")

    async def end_early(loop: VirtualLoop, cluster: Cluster) -> None:
        cluster.create_topic("t", 1, replication=3, rate=10)
        cluster.create_topic("u", 2, replication=3)
        await loop.sleep(SECOND)
        cluster.delete_topic("t")
        await loop.sleep(SECOND)

    async def look(loop: VirtualLoop, cluster: Cluster) -> set[str]:
        await loop.sleep(SECOND)
        return _folders(tmp_path)

    _live(config, end_early)
    assert "t-0.<uuid>-delete" in _folders(tmp_path)
    for name in ("killed-0", "killed-1", "u-2"):
        (tmp_path / "c" / "broker-0" / name).mkdir()
        (tmp_path / "c" / "broker-0" / name / f"{0:020}.log").write_bytes(b"x" * (name == "killed-1"))
    offsets = {f"__consumer_offsets-{number}" for number in range(4)}
    assert _live(config, look) == offsets | {"u-0", "u-1", "killed-1.unknown-stray"}


def test_a_delay_of_none_removes_at_once(tmp_path: Path) -> None:
    """`log.segment.delete.delay.ms` may be 0, and a broker of a replica that moved away deletes its log, too."""
    plain = kept_writer.config(tmp_path / "c")
    config = evolve(plain, replica=evolve(plain.replica, log=evolve(plain.replica.log, file_delete_delay_ms=0)))

    async def story(loop: VirtualLoop, cluster: Cluster) -> set[str]:
        cluster.create_topic("t", 1, assignment=[[0, 1]])
        await loop.sleep(SECOND)
        cluster.controller.reassign(T0, [2, 1])
        await loop.sleep(5 * SECOND)
        return {str(path.relative_to(tmp_path / "c")) for path in (tmp_path / "c").glob("broker-*/t-*")}

    assert _live(config, story) == {"broker-1/t-0", "broker-2/t-0"}


def test_a_cluster_is_kept_in_a_folder() -> None:
    """Without a folder there is nothing to keep it in."""
    with pytest.raises(ValueError, match="give the folder to keep the cluster in"):
        ClusterConfig(kept=True)
