"""Consumer groups (KIP-848) from both ends: members of the Java client 4.4 with their coordinator, in whole runs.

Facts: KIP-848; `GroupMetadataManager`, `AbstractMembershipManager` of Kafka 4.4.0.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import pytest

from groupsim import Kind, Simulation, load_text, run_scenario

SECOND = 1_000_000
INTERVAL_US = 5 * SECOND
CONSUMER = {"group.protocol": "consumer", "auto.offset.reset": "earliest"}


GROWING = """
title: A consumer group grows from two members to six, then loses two
run-for: 3m
topics:
  orders: {partitions: 12, rate: 12/s}
groups:
  g1:
    client: java-4.4
    properties: {group.protocol: consumer, auto.offset.reset: earliest}
    members: {pod: 2}
timeline:
  - {at: 30s, do: scale, group: g1, to: 6}
  - {at: 70s, do: stop, member: pod-6}
  - {at: 100s, do: crash, member: pod-5}
expect:
  - event: {kind: epoch.bumped, count: 8}
  - event: {kind: member.removed, count: 2}
"""


def start(sim: Simulation, *names: str, **properties: object) -> None:
    """Start members of group g1 under the consumer protocol."""
    for name in names:
        sim.member(name, client="java-4.4", properties={**CONSUMER, **properties})


async def owning(sim: Simulation, within: str = "2m", **shares: int) -> None:
    """Let time pass until each of these members is stable with so many partitions."""
    members = {sim.members[name]: share for name, share in shares.items()}
    await sim.until(
        lambda: all(one.settled and len(one.assignment) == share for one, share in members.items()), within=within
    )


def callbacks(sim: Simulation, name: str) -> list[tuple[str, int]]:
    """Return the callbacks of a member: kind, and the number of partitions."""
    found = [event for event in sim.find(Kind.CALLBACK_BEGUN) if event.host == name]
    return [(str(event.reason), len((event.payload or {})["partitions"])) for event in found]


def delivered(events: Iterable[Any]) -> dict[str, set[int]]:
    """Return the offsets that poll returned to any member, by partition."""
    offsets: dict[str, set[int]] = defaultdict(set)
    for event in events:
        if event.kind is not Kind.RECORDS_DELIVERED:
            continue
        base, count = (event.payload or {})["base"], (event.payload or {})["count"]
        offsets[f"{event.topic}-{event.partition}"].update(range(base, base + count))
    return offsets


async def test_a_second_member_takes_half_and_the_rest_goes_on(sim: Simulation) -> None:
    """A join moves half of the partitions within two intervals; those that stay are in no callback."""
    sim.topic("orders", 6)
    start(sim, "c1")
    await owning(sim, c1=6)
    joined_us = sim.now_us
    start(sim, "c2")
    await owning(sim, c1=3, c2=3)
    assert sim.now_us - joined_us <= 2 * INTERVAL_US + SECOND
    assert callbacks(sim, "c1") == [("assigned", 6), ("revoked", 3), ("assigned", 0)]
    assert callbacks(sim, "c2") == [("assigned", 0), ("assigned", 3)]
    released = [event.partition for event in sim.find(Kind.PARTITION_RELEASED)]
    assert sorted(released) == sorted(one.partition for one in sim.members["c2"].assignment)


async def test_six_members_join_leave_and_crash_and_every_record_is_read(sim: Simulation) -> None:
    """Six members share twelve partitions; one closes, one crashes; no offset is skipped, and the group ends empty."""
    sim.topic("orders", 12, rate=24)
    names = [f"c{number}" for number in range(1, 7)]
    start(sim, *names)
    await owning(sim, **dict.fromkeys(names, 2))
    await sim.members["c6"].close()
    await sim.until(lambda: sorted(len(sim.members[name].assignment) for name in names[:5]) == [2, 2, 2, 3, 3])
    sim.members["c5"].crash()
    await owning(sim, **dict.fromkeys(names[:4], 3))
    assert [event.reason for event in sim.find(Kind.MEMBER_REMOVED)][-1] == "session-expired"
    await sim.run_for("10s")
    for partition, offsets in delivered(sim.events).items():
        assert offsets == set(range(max(offsets) + 1)), partition
        assert max(offsets) > 2 * (sim.now_us / SECOND - 5), partition
    for name in names[:4]:
        await sim.members[name].close()
    assert sim.state() == "Empty"


async def test_a_partition_has_one_owner_at_a_time(sim: Simulation) -> None:
    """Through joins, leaves and an eviction no partition is owned by two members at once."""
    sim.topic("orders", 8)
    start(sim, "c1", "c2", "c3")
    await sim.run_for("20s")
    start(sim, "c4")
    await sim.run_for("20s")
    await sim.members["c2"].close()
    sim.members["c3"].block_poll("6m")
    await sim.run_for("7m")
    owners: dict[str, set[str]] = defaultdict(set)
    for event in sim.events:
        partition = f"{event.topic}-{event.partition}"
        if event.kind is Kind.PARTITION_OWNED:
            owners[partition].add(str(event.host))
            assert len(owners[partition] - {"c3"}) <= 1, (event.t_us, partition, owners[partition])
        elif event.kind is Kind.PARTITION_RELEASED:
            owners[partition].discard(str(event.host))


async def test_a_member_beyond_its_poll_limit_comes_back(sim: Simulation) -> None:
    """STALE after max.poll.interval.ms: its partitions move on at once, and it gets a share again when it polls."""
    sim.topic("orders", 4)
    start(sim, "c1", "c2", **{"max.poll.interval.ms": 20_000})
    await owning(sim, c1=2, c2=2)
    blocked_us = sim.now_us
    sim.members["c2"].block_poll("60s")
    await owning(sim, c1=4)
    assert 20 * SECOND <= sim.now_us - blocked_us <= 20 * SECOND + 2 * INTERVAL_US
    assert sim.members["c2"].state == "STALE"
    await owning(sim, c1=2, c2=2)
    assert callbacks(sim, "c2")[-3:] == [("lost", 2), ("assigned", 0), ("assigned", 2)]


@pytest.mark.sim(brokers=3)
async def test_a_moved_coordinator_changes_no_assignment(sim: Simulation) -> None:
    """The members look the coordinator up, and go on at their epochs: no callback, no new epoch."""
    sim.topic("orders", 4)
    start(sim, "c1", "c2")
    await owning(sim, c1=2, c2=2)
    before = [sim.members[name].generation for name in ("c1", "c2")]
    seen = len(sim.find(Kind.CALLBACK_BEGUN))
    sim.move_coordinator()
    await sim.run_for("30s")
    assert [sim.members[name].generation for name in ("c1", "c2")] == before
    assert len(sim.find(Kind.CALLBACK_BEGUN)) == seen
    assert sim.members["c1"].settled


async def test_a_static_member_comes_back_to_its_partitions(sim: Simulation) -> None:
    """A close reports epoch -2; the restart takes the same partitions over at once, and others notice nothing."""
    sim.topic("orders", 4)
    start(sim, "c1", **{"group.instance.id": "i1"})
    start(sim, "c2", **{"group.instance.id": "i2"})
    await owning(sim, c1=2, c2=2)
    member, before, seen = sim.members["c2"], sim.members["c2"].assignment, callbacks(sim, "c1")
    await member.close()
    await sim.run_for("20s")
    member.start()
    await owning(sim, "2s", c2=2)
    assert member.assignment == before
    assert callbacks(sim, "c1") == seen


async def test_new_partitions_are_assigned_within_an_interval(sim: Simulation) -> None:
    """A topic that is created later is assigned to the member that subscribes to it."""
    sim.topic("orders", 2)
    sim.member("c1", topics=["orders", "later"], client="java-4.4", properties=CONSUMER)
    await owning(sim, c1=2)
    sim.topic("later", 3)
    await owning(sim, "10s", c1=5)


def test_a_scenario_grows_and_shrinks_under_the_consumer_protocol() -> None:
    """Two members, then six, then four: an epoch for each change, and every record is read."""
    run = run_scenario(load_text(GROWING))
    assert run.failed == ()
    states = [event.to for event in run.events if event.kind is Kind.GROUP_STATE]
    assert states[-1] == "Stable"
    for partition, offsets in delivered(run.events).items():
        assert offsets == set(range(max(offsets) + 1)), partition
        assert max(offsets) >= 170, partition


def test_the_same_seed_gives_the_same_trace_under_the_consumer_protocol() -> None:
    """Member ids, targets and heartbeats follow from the seed; another seed draws other ids."""
    first, again, other = (run_scenario(load_text(GROWING), seed=seed).events for seed in (3, 3, 4))
    assert first == again
    assert {event.member for event in first} != {event.member for event in other}


ACTS = ("crash", "close", "pause", "block", "start", "start", "unsubscribe", "move", "raise", "heartbeats")


async def act(sim: Simulation, luck: random.Random) -> None:
    """Do something to a random member, or to the coordinator."""
    one, what, us = sim.members[f"c{luck.randrange(1, 6)}"], luck.choice(ACTS), luck.randrange(1, 40) * SECOND
    if what == "move":
        sim.move_coordinator()
    elif what == "start":
        if not one.running:
            one.start()
        one.subscribe(["orders"])
    elif one.running and what == "unsubscribe":
        one.unsubscribe()
    elif one.running:
        {
            "crash": one.crash,
            "close": one.begin_close,
            "pause": lambda: one.pause(us),
            "block": lambda: one.block_poll(us),
            "raise": lambda: one.raise_in_callback(luck.choice(("assigned", "revoked", "lost")), "boom"),
            "heartbeats": lambda: one.block_heartbeats(us),
        }[what]()


@pytest.mark.parametrize("walk", [1, 2, 6])
@pytest.mark.sim(brokers=3)
async def test_a_group_recovers_from_anything(sim: Simulation, walk: int) -> None:
    """After crashes, pauses, slow callbacks, exceptions and moves in any order five members share eight partitions."""
    luck = random.Random(walk)
    sim.topic("orders", 8, rate=8)
    for number in range(1, 6):
        properties = {**CONSUMER, "max.poll.interval.ms": 20_000, "enable.auto.commit": luck.random() < 0.6}
        slow = {"on_revoked": "7s"} if luck.random() < 0.5 else {}
        sim.member(f"c{number}", client="java-4.4", properties=properties, on_error="retry-all", **slow)
    for _ in range(20):
        await sim.run_for(f"{luck.randrange(1, 15)}s")
        await act(sim, luck)
    for one in sim.members.values():
        if not one.running:
            await one.ended()
            one.start()
        one.subscribe(["orders"])
    await sim.until(
        lambda: (
            all(one.settled for one in sim.members.values())
            and sorted(len(one.assignment) for one in sim.members.values()) == [1, 1, 2, 2, 2]
        ),
        within="4m",
    )


REGEX = """
run-for: 60s
topics: {orders: {partitions: 2, rate: 2/s}, old-orders: {partitions: 2, rate: 2/s}}
groups:
  g1:
    client: java-4.4
    subscribe-regex: "orders.*"
    properties: {group.protocol: consumer, auto.offset.reset: earliest}
    members: {c: 2}
timeline:
  - {at: 20s, do: create-topic, topic: orders-eu, partitions: 2, rate: 2/s}
expect:
  - every-partition-owned:
"""


def test_a_regex_is_resolved_by_the_broker_and_takes_a_new_topic() -> None:
    """Members get the topics whose whole names match, and one that appears later, without a change of their own."""
    pytest.importorskip("re2")
    run = run_scenario(load_text(REGEX))
    assert run.failed == ()
    assert {event.topic for event in run.events if event.kind is Kind.RECORDS_DELIVERED} == {"orders", "orders-eu"}


def test_a_regex_that_the_broker_refuses_ends_the_consumer() -> None:
    """An expression that RE2/J cannot compile fails the process with the broker's words."""
    pytest.importorskip("re2")
    refused = REGEX.replace('"orders.*"', '"orders("').replace(
        "every-partition-owned:", "event: {kind: process.failed}"
    )
    run = run_scenario(load_text(refused))
    failed = [(event.host, event.error) for event in run.events if event.kind is Kind.PROCESS_FAILED]
    assert sorted(failed) == [("c-1", "InvalidRegularExpression"), ("c-2", "InvalidRegularExpression")]
    assert any("`orders(` is not a valid" in str(event.reason) for event in run.events)


def test_a_step_changes_a_regex() -> None:
    """`subscribe` with `regex` replaces names, after an unsubscribe, and the member reads the other topic."""
    pytest.importorskip("re2")
    step = "  - {at: 30s, do: subscribe, member: all, regex: old-.*}\nexpect:"
    text = REGEX.replace('    subscribe-regex: "orders.*"\n', "    subscribe: [orders]\n").replace("expect:", step)
    run = run_scenario(load_text(text.replace("  - every-partition-owned:", "  - rebalances: '>= 2'")))
    read = {event.topic for event in run.events if event.kind is Kind.RECORDS_DELIVERED and event.t_us > 45 * SECOND}
    assert read == {"old-orders"}
