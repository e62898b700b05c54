"""A broker's data directory: its identity, its lock and the checkpoints of all logs."""

from __future__ import annotations

from pathlib import Path

import pytest

from groupsim.cluster.log.files.data_dir import (
    CLEAN_SHUTDOWN,
    META_PROPERTIES,
    DataDir,
    DataDirRefused,
    parse_offsets,
    read_properties,
    read_topic_id,
    write_topic_id,
)
from groupsim.cluster.log.files.store import RECOVERY_POINT
from groupsim.protocol.basics import TopicPartition
from tests.helpers.counted_batches import counted_batch

ORDERS, DASHED = TopicPartition("orders", 0), TopicPartition("a-b-c", 12)


def used(folder: Path) -> DataDir:
    """The directory, in use by this process."""
    return DataDir(folder, cluster_id="cluster-1", node=1, sync=False)


def test_an_end_in_order_leaves_kafkas_files_and_is_trusted(tmp_path: Path) -> None:
    """Logs, checkpoints in Kafka's form, the marker with the broker's epoch; the next start takes the marker away."""
    data = used(tmp_path)
    assert not data.clean
    for partition in (ORDERS, DASHED):
        store = data.open(partition)
        store.create(0, 0).append(counted_batch(7, 10, 0))
        store.write_checkpoint("replication-offset-checkpoint", "5")
        store.write_checkpoint("leader-epoch-checkpoint", "0\n0\n")
    data.close(broker_epoch=9)
    assert (tmp_path / CLEAN_SHUTDOWN).read_text() == '{"version":0,"brokerEpoch":9}'
    assert (tmp_path / RECOVERY_POINT).read_text() == "0\n2\na-b-c 12 7\norders 0 7\n"
    assert (tmp_path / "replication-offset-checkpoint").read_text() == "0\n2\na-b-c 12 5\norders 0 5\n"
    assert (tmp_path / "orders-0" / "leader-epoch-checkpoint").exists()
    kept = read_properties(tmp_path / META_PROPERTIES)
    assert (kept["cluster.id"], kept["node.id"], kept["version"]) == ("cluster-1", "1", "1")
    data = used(tmp_path)
    assert data.clean
    assert data.partitions() == (DASHED, ORDERS)
    assert not (tmp_path / CLEAN_SHUTDOWN).exists()
    store = data.open(ORDERS)
    assert store.read_checkpoint("replication-offset-checkpoint") == "5"
    assert (store.segments[0].next_offset, store.repairs) == (7, [])
    data.close()


def test_one_process_at_a_time_uses_it(tmp_path: Path) -> None:
    """The second process gets an error, and succeeds after the first one has ended."""
    data = used(tmp_path)
    with pytest.raises(DataDirRefused, match="another process uses this directory"):
        used(tmp_path)
    data.close()
    used(tmp_path).close()


def test_another_brokers_directory_is_refused(tmp_path: Path) -> None:
    """Node id and cluster id are compared; the lock is released after an error."""
    used(tmp_path).close()
    with pytest.raises(DataDirRefused, match=r"node\.id is '1' and should be '2'"):
        DataDir(tmp_path, cluster_id="cluster-1", node=2)
    with pytest.raises(DataDirRefused, match=r"cluster\.id is 'cluster-1'"):
        DataDir(tmp_path, cluster_id="other", node=1)
    used(tmp_path).close()


def test_a_deleted_log_is_gone_from_the_checkpoints_too(tmp_path: Path) -> None:
    """Nothing of it is left."""
    data = used(tmp_path)
    data.open(ORDERS).create(0, 0)
    data.set_offset(RECOVERY_POINT, ORDERS, 3)
    data.delete(ORDERS)
    assert data.partitions() == ()
    assert data.offset(RECOVERY_POINT, ORDERS) is None
    assert (tmp_path / RECOVERY_POINT).read_text() == "0\n0\n"
    data.close()


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("", "line 1: expected version 0"),
        ("1\n0\n", "line 1: expected version 0, found '1'"),
        ("0\n1\norders 0\n", "line 3: expected a topic, a partition and an offset, found 'orders 0'"),
        ("0\n2\norders 0 7\n", "line 2: expected 1, the number of lines"),
    ],
)
def test_a_checkpoint_that_cannot_be_read_is_named_by_its_line(text: str, wrong: str) -> None:
    """File and line."""
    with pytest.raises(DataDirRefused, match=wrong):
        parse_offsets(Path("recovery-point-offset-checkpoint"), text)


def test_a_log_knows_its_topics_id(tmp_path: Path) -> None:
    """In the form of Kafka's `partition.metadata`."""
    assert read_topic_id(tmp_path) is None
    write_topic_id(tmp_path, "rFvGf2hYQOyc2cJqE4dGZg")
    assert (tmp_path / "partition.metadata").read_text() == "version: 0\ntopic_id: rFvGf2hYQOyc2cJqE4dGZg"
    assert read_topic_id(tmp_path) == "rFvGf2hYQOyc2cJqE4dGZg"
    (tmp_path / "partition.metadata").write_text("version: 1\n")
    with pytest.raises(DataDirRefused, match="expected 'version: 0'"):
        read_topic_id(tmp_path)
