"""A group of 0.8's consumers: registration, claims, the herd effect, split brain, expired sessions."""

from __future__ import annotations

from typing import Any

import pytest

from groupsim.cluster.network import faults
from groupsim.members.behaviour import CommitPolicy
from groupsim.protocol.messages.group import TopicPartition

SECOND = 1_000_000
FAST = {"auto.commit.interval.ms": 1_000}


def owned(consumer: Any) -> list[int]:
    """Return the partition numbers that a consumer considers its own."""
    return [partition.partition for partition in consumer.assignment]


def test_a_consumer_registers_and_claims(on_bench: Any) -> None:
    """A consumer's node has its subscription; the node of each partition names its stream."""

    async def body(bench: Any) -> None:
        consumer = bench.consumer("c1")
        await bench.until(1)
        (name,) = bench.zookeeper.tree.children("/consumers/g/ids")
        assert name == consumer.member_id
        assert name.startswith("g_c1-0-")
        assert len(name.rpartition("-")[2]) == 8
        assert '"subscription": {"t": 1}' in bench.data(f"/consumers/g/ids/{name}")
        assert [bench.data(f"/consumers/g/owners/t/{p}") for p in range(6)] == [f"{name}-0"] * 6
        assert (owned(consumer), consumer.state) == ([0, 1, 2, 3, 4, 5], "CONSUMING")

    on_bench(body)


def test_one_newcomer_stops_everybody(on_bench: Any) -> None:
    """A newcomer makes each member give up all partitions, even those it keeps."""

    async def body(bench: Any) -> None:
        members = [bench.consumer(f"c{n}") for n in range(3)]
        await bench.until(10)
        before = [owned(one) for one in members]
        bench.consumer("c9")
        await bench.until(20)
        released = bench.kinds("partition.released")
        late = [e for e in released if e.t_us > 10 * SECOND]
        assert before[0] == [0, 1]
        assert owned(members[0]) == [0, 1]
        assert sorted((e.host, e.partition) for e in late if e.host == "c0") == [("c0", 0), ("c0", 1)]
        assert {e.host for e in late} == {"c0", "c1", "c2"}

    on_bench(body)


def test_a_claim_that_stands_is_waited_for(on_bench: Any) -> None:
    """A member that meets a foreign claim removes its own claims, waits, and tries again."""

    async def body(bench: Any) -> None:
        blocker = await _claimed_by_a_stranger(bench, 5)
        consumer = bench.consumer("c1")
        await bench.until(1)
        assert [bench.data(f"/consumers/g/owners/t/{p}") for p in range(6)] == [None] * 5 + ["stranger"]
        bench.zookeeper.delete(blocker)
        await bench.until(3)
        assert owned(consumer) == [0, 1, 2, 3, 4, 5]
        (warning,) = bench.kinds("warning", "c1")
        assert "t-5 (stranger)" in warning.reason

    on_bench(body)


async def _claimed_by_a_stranger(bench: Any, partition: int) -> str:
    for path in ("/consumers/g", "/consumers/g/owners", "/consumers/g/owners/t"):
        bench.zookeeper.create(path, "")
    bench.zookeeper.create(f"/consumers/g/owners/t/{partition}", "stranger")
    return f"/consumers/g/owners/t/{partition}"


def test_the_first_rebalance_that_fails_ends_the_process(on_bench: Any) -> None:
    """Four attempts two seconds apart, then ConsumerRebalanceFailedException; the registration is deleted."""

    async def body(bench: Any) -> None:
        await _claimed_by_a_stranger(bench, 0)
        consumer = bench.consumer("c1")
        await bench.until(7.9)
        assert consumer.running
        await bench.until(9)
        (failed,) = bench.kinds("process.failed")
        assert failed.error == "ConsumerRebalanceFailedException"
        assert "after 4 retries" in failed.reason
        assert 8 * SECOND < failed.t_us < int(8.2 * SECOND)
        assert (consumer.state, bench.zookeeper.tree.children("/consumers/g/ids")) == ("FAILED", ())

    on_bench(body)


def test_a_later_rebalance_that_fails_leaves_a_consumer_with_nothing(on_bench: Any) -> None:
    """The consumer stays registered, so others leave its share unclaimed; only another change makes it try again."""

    async def body(bench: Any) -> None:
        first = bench.consumer("c1", {"rebalance.max.retries": 1})
        await bench.until(2)
        second = bench.consumer("c2", {"rebalance.max.retries": 4})
        bench.cluster.network.inject(faults.Stall(faults.Match(host="c1"), faults.Direction.BOTH, SECOND))
        bench.zookeeper.on_removed.append(lambda path, reason, session: _squat(bench, path))
        await bench.until(20)
        assert (first.state, owned(first)) == ("REGISTERED", [])
        assert any("ConsumerRebalanceFailedException" in e.reason for e in bench.kinds("warning", "c1"))
        assert owned(second) == [3, 4, 5]

    on_bench(body)


def _squat(bench: Any, path: str) -> None:
    """Take the claim of partition 0 permanently as soon as it is released."""
    if path == "/consumers/g/owners/t/0":
        bench.loop.call_at(bench.loop.now_us, lambda _: _retake(bench, path))


def _retake(bench: Any, path: str) -> None:
    if bench.zookeeper.tree.find(path) is None:
        bench.zookeeper.create(path, "squatter")


def test_a_crashed_consumer_is_a_member_until_its_session_ends(on_bench: Any) -> None:
    """The partitions of a dead consumer wait for six to eight seconds, then the others take them."""

    async def body(bench: Any) -> None:
        first, second = bench.consumer("c1"), bench.consumer("c2")
        await bench.until(10)
        first.crash()
        await bench.until(13)
        assert owned(second) == [3, 4, 5]
        await bench.until(18.5)
        assert owned(second) == [0, 1, 2, 3, 4, 5]

    on_bench(body)


def test_a_closed_consumer_is_gone_at_once(on_bench: Any) -> None:
    """A close commits and ends the session, and the others rebalance within milliseconds."""

    async def body(bench: Any) -> None:
        first, second = bench.consumer("c1"), bench.consumer("c2")
        await bench.until(10)
        await first.close()
        assert bench.data("/consumers/g/offsets/t/0") is not None
        await bench.until(10.2)
        assert (first.state, owned(second)) == ("STOPPED", [0, 1, 2, 3, 4, 5])

    on_bench(body)


def test_a_paused_owner_goes_on_after_its_session(on_bench: Any) -> None:
    """After its pause an owner delivers partitions that others own, until it learns of the expiry."""

    async def body(bench: Any) -> None:
        first, second = bench.consumer("c1", FAST, processing="20ms"), bench.consumer("c2", FAST, processing="20ms")
        await bench.until(10)
        first.pause(9 * SECOND)
        await bench.until(19)
        assert set(owned(first)) <= set(owned(second))
        await bench.until(25)
        back = bench.kinds("process.resumed")[0].t_us
        lost = [e for e in bench.kinds("partition.released", "c1") if e.reason == "lost"]
        again = [e for e in bench.kinds("records.delivered", "c1") if back < e.t_us <= lost[0].t_us]
        assert again
        assert lost[0].t_us - back < 1.1 * SECOND
        assert sorted(owned(first) + owned(second)) == [0, 1, 2, 3, 4, 5]

    on_bench(body)


def test_a_late_commit_overwrites_the_new_owners(on_bench: Any) -> None:
    """Offsets in ZooKeeper have no owner: the last write counts."""

    async def body(bench: Any) -> None:
        bench.consumer("c1", FAST)
        await bench.until(5)
        bench.zookeeper.set_data("/consumers/g/offsets/t/0", "3")
        assert int(bench.data("/consumers/g/offsets/t/0")) == 3
        await bench.until(7)
        assert int(bench.data("/consumers/g/offsets/t/0")) > 40

    on_bench(body)


def test_offsets_are_where_the_next_owner_begins(on_bench: Any) -> None:
    """A restart continues at the committed offset, without duplicates or gaps."""

    async def body(bench: Any) -> None:
        consumer = bench.consumer("c1", {"auto.offset.reset": "smallest"})
        await bench.until(5)
        await consumer.close()
        committed = int(bench.data("/consumers/g/offsets/t/2"))
        consumer.start()
        await bench.until(8)
        positions = [e.payload["offset"] for e in bench.kinds("position.set") if e.partition == 2]
        assert positions == [0, committed]
        given = [(e.payload["base"], e.payload["count"]) for e in bench.kinds("records.delivered") if e.partition == 2]
        ends = [base + count for base, count in given]
        assert [base for base, _ in given[1:]] == ends[:-1]

    on_bench(body)


def test_auto_commit_enable_false_commits_nothing(on_bench: Any) -> None:
    """auto.commit.enable=false: no commit at intervals, before a rebalance or on close."""

    async def body(bench: Any) -> None:
        consumer = bench.consumer("c1", {"auto.commit.enable": "false", "auto.commit.interval.ms": 1_000})
        await bench.until(5)
        await consumer.close()
        assert bench.kinds("offsets.committed") == []
        assert bench.data("/consumers/g/offsets/t/0") is None

    on_bench(body)


def test_an_application_may_commit_after_each_batch(on_bench: Any) -> None:
    """Unchanged offsets are not written."""

    async def body(bench: Any) -> None:
        bench.consumer("c1", commit=CommitPolicy.SYNC_AFTER_BATCH)
        await bench.until(3)
        commits = bench.kinds("offsets.committed")
        assert len(commits) > 10
        assert not any(e.payload["auto"] for e in commits)

    on_bench(body)


def test_new_partitions_wake_everybody(on_bench: Any) -> None:
    """A consumer watches the topic's node."""

    async def body(bench: Any) -> None:
        consumer = bench.consumer("c1")
        await bench.until(2)
        bench.cluster.add_partitions("t", 8)
        await bench.until(3)
        assert owned(consumer) == list(range(8))

    on_bench(body)


def test_a_pattern_follows_new_topics(on_bench: Any) -> None:
    """A consumer with a filter watches the list of topics."""

    async def body(bench: Any) -> None:
        consumer = bench.consumer("c1")
        await consumer.close()
        consumer.subscribe(pattern="t.*")
        consumer.start()
        await bench.until(2)
        bench.cluster.create_topic("tea", 1)
        bench.cluster.create_topic("coffee", 1)
        await bench.until(3)
        assert consumer.assignment[-1] == TopicPartition("tea", 0)
        assert len(consumer.assignment) == 7

    on_bench(body)


def test_a_broken_connection_changes_nothing(on_bench: Any) -> None:
    """The session continues over the next connection: no rebalance, nothing given up."""

    async def body(bench: Any) -> None:
        consumer = bench.consumer("c1")
        await bench.until(2)
        bench.cluster.network.inject(faults.Break(faults.Match(host="c1", purpose="zookeeper")))
        await bench.until(5)
        assert (len(bench.kinds("coordinator.lost")), len(bench.kinds("coordinator.found"))) == (1, 2)
        assert (bench.kinds("partition.released"), owned(consumer)) == ([], [0, 1, 2, 3, 4, 5])

    on_bench(body)


def test_a_change_during_a_disconnect_is_noticed_afterwards(on_bench: Any) -> None:
    """A newcomer gets its share as soon as a member that was cut off from ZooKeeper is back."""

    async def body(bench: Any) -> None:
        first = bench.consumer("c1")
        await bench.until(2)
        match = faults.Match(host="c1", purpose="zookeeper")
        bench.cluster.network.inject(faults.Isolate(match, 5 * SECOND))
        second = bench.consumer("c2")
        await bench.until(6.9)
        assert (owned(first), owned(second)) == ([0, 1, 2, 3, 4, 5], [])
        await bench.until(12)
        assert (owned(first), owned(second)) == ([0, 1, 2], [3, 4, 5])
        assert bench.kinds("member.removed") == []

    on_bench(body)


def test_a_zookeeper_that_stands_still_stops_no_records(on_bench: Any) -> None:
    """Consumers continue with what they own, and none loses its session."""

    async def body(bench: Any) -> None:
        consumer = bench.consumer("c1")
        await bench.until(4)
        bench.zookeeper.host.pause()
        await bench.until(20)
        given = [e for e in bench.kinds("records.delivered") if e.t_us > 15 * SECOND]
        bench.zookeeper.host.resume()
        await bench.until(30)
        assert given
        assert (bench.kinds("member.removed"), owned(consumer)) == ([], [0, 1, 2, 3, 4, 5])

    on_bench(body)


def test_records_in_hand_are_dropped_before_others_may_own_them(on_bench: Any) -> None:
    """A rebalance without failures delivers no record twice, though many were fetched and not delivered."""

    async def body(bench: Any) -> None:
        bench.consumer("c1", {"auto.offset.reset": "smallest"}, processing="50ms")
        await bench.until(20)
        bench.consumer("c2", {"auto.offset.reset": "smallest"}, processing="50ms")
        await bench.until(30)
        given = [(e.partition, e.payload["base"]) for e in bench.kinds("records.delivered")]
        assert len(given) == len(set(given)) > 500

    on_bench(body)


def test_what_0_8_could_not_do_is_refused(on_bench: Any) -> None:
    """assign(), another subscription and an enforced rebalance are refused."""

    async def body(bench: Any) -> None:
        consumer = bench.consumer("c1")
        await bench.until(1)
        for call in (lambda: consumer.assign([]), lambda: consumer.subscribe(["u"]), consumer.enforce_rebalance):
            with pytest.raises(ValueError, match=r"0\.8's high-level consumer cannot"):
                call()

    on_bench(body)


def test_pings_are_counted_over_all_lives(on_bench: Any) -> None:
    """A ping is sent every two seconds without other requests; the count continues over restarts."""

    async def body(bench: Any) -> None:
        consumer = bench.consumer("c1")
        await bench.until(20)
        first = consumer.heartbeats
        assert 9 <= first <= 10
        await consumer.close()
        consumer.start()
        await bench.until(40)
        assert 18 <= consumer.heartbeats <= 20

    on_bench(body)


def _trace(on_bench: Any, seed: int) -> list[Any]:
    async def body(bench: Any) -> None:
        members = [bench.consumer(f"c{n}", FAST, processing="5ms") for n in range(4)]
        await bench.until(10)
        members[1].pause(9 * SECOND)
        await bench.until(15)
        members[2].crash()
        await bench.until(30)

    return list(on_bench(body, seed=seed).events)


def test_the_same_seed_gives_the_same_trace(on_bench: Any) -> None:
    """Two runs are equal event by event; another seed differs."""
    assert _trace(on_bench, 1) == _trace(on_bench, 1) != _trace(on_bench, 2)
