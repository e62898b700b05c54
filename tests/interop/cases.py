"""What every client must do with a group coordinator, as small stories; the table has one row for each.

A case uses a `Bench`, tells members what to do, and looks at what they report and what the coordinator says. It raises
AssertionError when something is wrong, `Unsupported` when the client does not have what it takes, `CannotHere` when the
peer does not.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial

from attrs import frozen

from tests.interop.bench import Bench, records, until
from tests.interop.members import Member, Partition, Place, Record, Unsupported

PATIENT = {"session_timeout_ms": 60_000, "rebalance_timeout_ms": 60_000}
"""Of members whose going is noticed by something else than the end of a session or of a rebalance."""


@frozen
class Case:
    """A row of the table: its name in ids, what it says in the table, and the story."""

    name: str
    says: str
    play: Callable[[Bench], None]
    short: bool = False


# --- Groups form and rebalance ---------------------------------------------------------------------------------------


def forms_a_group(bench: Bench) -> None:
    """One member gets everything, and nothing moves any more."""
    topic = bench.topic()
    member = bench.consumer(topic)
    bench.stable(topic, [member])
    seen = len(member.events)
    time.sleep(2)
    assert not member.moves(seen), f"the assignment did not stay: {member.moves(seen)}"


def rebalances_with_range(bench: Bench) -> None:
    """A second and a third member come, one goes: each time all partitions are shared, in ranges."""
    topic = bench.topic()
    members = [bench.consumer(topic)]
    bench.stable(topic, members)
    for _ in range(2):
        members.append(bench.consumer(topic))
        bench.stable(topic, members)
        for member in members:
            numbers = sorted(number for _, number in member.owned)
            assert numbers == list(range(numbers[0], numbers[-1] + 1)), f"{member.name} owns no range: {numbers}"
    members.pop(0).close()
    bench.stable(topic, members)


def rebalances_cooperatively(assignor: str, bench: Bench) -> None:
    """A second and a third member come: only partitions that move are revoked, nothing else stops."""
    topic = bench.topic()
    members = [bench.consumer(topic, assignor)]
    bench.stable(topic, members)
    for _ in range(2):
        seen = [len(member.events) for member in members]
        members.append(bench.consumer(topic, assignor))
        bench.stable(topic, members)
        for member, start in zip(members, seen, strict=False):
            revoked = {place for what, places in member.moves(start) if what == "revoked" for place in places}
            assert not revoked & member.owned, f"{member.name} had to give up what it kept: {revoked & member.owned}"
    members.pop(0).close()
    bench.stable(topic, members)


def rebalances_evenly(assignor: str, bench: Bench) -> None:
    """As with range, but whose partitions are which is the assignor's own: shared evenly, with one owner each."""
    topic = bench.topic()
    members = [bench.consumer(topic, assignor)]
    bench.stable(topic, members)
    for _ in range(2):
        members.append(bench.consumer(topic, assignor))
        bench.stable(topic, members)
    members.pop(0).close()
    bench.stable(topic, members)


def keeps_static_members(bench: Bench) -> None:
    """A static member that goes and comes back within its session has its partitions again, and nobody rebalanced."""
    topic = bench.topic()
    first, second = (bench.consumer(topic, instance_id=f"i-{n}", **PATIENT) for n in range(2))
    bench.stable(topic, [first, second])
    until(lambda: bench.state() == ("STABLE", 2), "the group is Stable")
    before, ids = second.owned, bench.member_ids()
    seen = len(first.events)
    second.close()
    time.sleep(1)
    back = bench.consumer(topic, instance_id="i-1", **PATIENT)
    until(lambda: back.owned == before, "the same partitions again", bench.told)
    bench.stable(topic, [first, back])
    assert not first.moves(seen), f"the other member was moved: {first.moves(seen)}"
    now = bench.member_ids()
    assert now["i-0"] == ids["i-0"]
    assert now["i-1"] != ids["i-1"], "who came back has no member id of its own"


# --- Records ---------------------------------------------------------------------------------------------------------


def loses_no_record(bench: Bench) -> None:
    """Keys, values, headers, in every codec that the client has, idempotent or not: what was sent is read, once."""
    topic = bench.topic()
    sent: dict[Place, Record] = {}
    for codec in ("plain", *bench.client.codecs):
        try:
            producer = bench.producer(codec="none" if codec == "plain" else codec, idempotent=codec != "plain")
        except Unsupported:
            if codec in {"plain", "none"}:
                raise
            continue
        number = len(sent)
        sent |= producer.send(topic, records(120, f"{codec}-"))
        assert len(sent) == number + 120, f"{codec}: two records got one place"
        producer.close()
    reader = bench.consumer(topic)
    assert bench.all_read(sent, [reader]) == sent
    places = [place for place, _ in reader.consumed()]
    assert len(places) == len(set(places)), "a record came twice"
    ends = bench.ends(topic)
    for partition, end in ends.items():
        offsets = sorted(place[2] for place in sent if place[:2] == partition)
        assert offsets == list(range(end)), f"{partition} ends at {end}, but was sent {len(offsets)} records"


def reads_committed_transactions(bench: Bench) -> None:
    """read_committed shows what was committed and not what was aborted; offsets arrive with their transaction."""
    topic, other = bench.topic(), bench.topic()
    producer = bench.producer(transactional_id=f"id-{bench.group}")
    committed: dict[Place, Record] = {}
    aborted: dict[Place, Record] = {}
    for number, end in enumerate(("commit", "abort", "commit", "abort")):
        producer.ask("begin", "begun")
        sent = producer.send(topic, records(30, f"{end}-{number}-"))
        (committed if end == "commit" else aborted).update(sent)
        if end == "commit":
            place = [[other, 0, 10 * (number + 1)]]
            producer.ask("send_offsets", "offsets_sent", group=bench.group, positions=place)
        producer.ask(end, "committed" if end == "commit" else "aborted")
    assert bench.committed(other) == {(other, 0): 30}
    careful = bench.consumer(topic, isolation="read_committed", group=f"{bench.group}-careful")
    assert bench.all_read(committed, [careful]) == committed
    everything = bench.consumer(topic, group=f"{bench.group}-all")
    bench.all_read(committed | aborted, [everything])
    assert not {place for place, _ in careful.consumed()} & set(aborted)


def continues_where_it_committed(bench: Bench) -> None:
    """A new member of a group begins where the last commit was."""
    topic = bench.topic()
    producer = bench.producer()
    sent = producer.send(topic, records(60, "before-"))
    first = bench.consumer(topic)
    bench.all_read(sent, [first])
    answer = first.ask("commit", "committed")
    positions = {(name, partition): offset for name, partition, offset in answer["positions"]}
    ends = ends_of(sent)
    assert positions == ends == bench.committed(topic)
    first.kill()
    later = producer.send(topic, records(30, "after-"))
    second = bench.consumer(topic)
    assert bench.all_read(later, [second]) == later, "what was committed came again"


# --- Things go wrong -------------------------------------------------------------------------------------------------


def survives_a_coordinator_move(bench: Bench) -> None:
    """The group's coordinator becomes another broker: the members find it, commit there, and read on."""
    topic = bench.topic()
    producer = bench.producer(idempotent=True)
    members = [bench.consumer(topic), bench.consumer(topic)]
    bench.stable(topic, members)
    sent = producer.send(topic, records(60, "before-"))
    bench.all_read(sent, members)
    for member in members:
        member.ask("commit", "committed")
    bench.peer.move_coordinator(bench.group, bench.admin)
    bench.stable(topic, members)
    sent |= producer.send(topic, records(60, "after-"))
    bench.all_read(sent, members)
    until(lambda: _commits(members), "both members commit", bench.told)
    assert bench.committed(topic) == ends_of(sent)


def _commits(members: list[Member]) -> bool:
    """Whether all can commit; while the coordinator moves, a client may give up and say so."""
    try:
        for member in members:
            member.ask("commit", "committed")
    except AssertionError:
        return False
    return True


def survives_a_killed_member(bench: Bench) -> None:
    """A member dies without a word: after its session timeout its partitions are the others', and nothing is lost."""
    topic = bench.topic()
    producer = bench.producer()
    members = [bench.consumer(topic, session_timeout_ms=6_000) for _ in range(2)]
    bench.stable(topic, members)
    sent = producer.send(topic, records(60, "before-"))
    bench.all_read(sent, members)
    dead, alive = members
    killed = time.monotonic()
    dead.kill()
    sent |= producer.send(topic, records(60, "while-"))
    bench.stable(topic, [alive])
    took = time.monotonic() - killed
    # Its last heartbeat may have been late.
    assert took > 3, f"its partitions moved after {took:.1f} s, before its session was over"
    sent |= producer.send(topic, records(60, "after-"))
    bench.all_read(sent, members)


def survives_a_pause(bench: Bench) -> None:
    """A member is stopped for longer than its session: the other has everything, then they share again."""
    topic = bench.topic()
    producer = bench.producer()
    paused, other = (bench.consumer(topic, session_timeout_ms=6_000) for _ in range(2))
    bench.stable(topic, [paused, other])
    paused.pause()
    try:
        bench.stable(topic, [other])
    finally:
        paused.resume()
    bench.stable(topic, [paused, other])
    sent = producer.send(topic, records(60, "after-"))
    bench.all_read(sent, [paused, other])


def leaves(bench: Bench) -> None:
    """Members that close leave at once: the others have everything, then the group is Empty, and its offsets stay."""
    topic = bench.topic()
    producer = bench.producer()
    first, second = bench.consumer(topic, **PATIENT), bench.consumer(topic, **PATIENT)
    bench.stable(topic, [first, second])
    sent = producer.send(topic, records(60))
    bench.all_read(sent, [first, second])
    first.close()
    closed = time.monotonic()
    bench.stable(topic, [second])
    assert time.monotonic() - closed < PATIENT["session_timeout_ms"] / 1_000, "the member that closed was waited for"
    bench.all_read(sent, [first, second])
    second.close()
    until(lambda: bench.state() == ("EMPTY", 0), "the group is Empty", bench.told, seconds=45)
    assert bench.committed(topic) == ends_of(sent)


def ends_of(sent: Mapping[Place, Record]) -> dict[Partition, int]:
    """Where each partition ends that these records lie in, when they are all."""
    ends: dict[Partition, int] = {}
    for topic, partition, offset in sent:
        ends[topic, partition] = max(offset + 1, ends.get((topic, partition), 0))
    return ends


CASES = (
    Case("group", "forms a group", forms_a_group),
    Case("range", "rebalances, range", rebalances_with_range, short=True),
    Case("roundrobin", "rebalances, roundrobin", partial(rebalances_evenly, "roundrobin")),
    Case("sticky", "rebalances, sticky", partial(rebalances_evenly, "sticky")),
    Case("cooperative", "rebalances, cooperative-sticky", partial(rebalances_cooperatively, "cooperative-sticky")),
    Case("static", "static membership: a bounce without a rebalance", keeps_static_members),
    Case("records", "produces and consumes, every codec, idempotent", loses_no_record, short=True),
    Case("transactions", "transactions, read_committed", reads_committed_transactions),
    Case("commit", "a new member continues at the commit", continues_where_it_committed),
    Case("move", "survives a coordinator move", survives_a_coordinator_move),
    Case("kill", "survives a killed member", survives_a_killed_member, short=True),
    Case("pause", "survives a pause longer than its session", survives_a_pause),
    Case("leave", "leaves: Empty, offsets kept", leaves, short=True),
)
"""The rows of the table, in order."""
