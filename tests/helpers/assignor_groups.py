"""Groups for the assignor tests: a short way to write them, random ones, and what is right about a result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from hypothesis import strategies as st

from groupsim.assignors import Assignor, CooperativeStickyAssignor, StickyAssignor
from groupsim.protocol.embedded.assignment import GroupAssignment, MemberSubscription, TopicMetadata
from groupsim.protocol.embedded.sticky_data import decode_sticky_user_data, encode_sticky_user_data
from groupsim.protocol.messages.group import TopicPartition

Topics = Mapping[str, TopicMetadata]
Held = dict[str, list[str]]


def topics(**counts: int) -> dict[str, TopicMetadata]:
    """Topics by name and number of partitions."""
    return {name: TopicMetadata(name, count) for name, count in counts.items()}


def parts(text: str) -> tuple[TopicPartition, ...]:
    """Partitions from `t-0 t-1`."""
    pairs = (word.rsplit("-", 1) for word in text.split())
    return tuple(TopicPartition(topic, int(number)) for topic, number in pairs)


def member(
    member_id: str,
    wanted: str,
    owned: str | Sequence[TopicPartition] = "",
    generation: int | None = None,
    rack: str | None = None,
    instance: str | None = None,
) -> MemberSubscription:
    """A member whose claims stand where both sticky assignors look for them, in the order in which bytes keep them."""
    claims = parts(owned) if isinstance(owned, str) else tuple(owned)
    data = None if generation is None else encode_sticky_user_data(claims, generation)
    read = decode_sticky_user_data(data) if data is not None else None
    claims = read[0] if read is not None else claims
    return MemberSubscription(member_id, tuple(wanted.split()), data, claims, generation, rack, instance)


def shown(result: GroupAssignment) -> Held:
    """A result as text, each list in its own order."""
    return {member_id: [str(partition) for partition in held] for member_id, held in result.partitions.items()}


def rejoin(members: Iterable[MemberSubscription], result: GroupAssignment, generation: int) -> list[MemberSubscription]:
    """The members as they join again after this round, claiming what they got."""
    return [
        member(
            one.member_id,
            " ".join(one.topics),
            result.partitions[one.member_id],
            generation,
            one.rack,
            one.instance_id,
        )
        for one in members
    ]


def problems(
    known: Topics, members: Sequence[MemberSubscription], result: GroupAssignment, *, withheld: int = 0
) -> list[str]:
    """What is not valid: a member left out, a partition twice, unsubscribed, unknown, or not given out."""
    found = []
    wanted = {one.member_id: set(one.topics) for one in members}
    if list(result.partitions) != [one.member_id for one in members]:
        found.append("not one entry for each member, in order")
    seen: dict[TopicPartition, str] = {}
    for member_id, held in result.partitions.items():
        for partition in held:
            if partition in seen:
                found.append(f"{partition} for {seen[partition]} and {member_id}")
            if partition.topic not in wanted[member_id]:
                found.append(f"{partition} for {member_id}, which does not want it")
            if not 0 <= partition.partition < known[partition.topic].partitions:
                found.append(f"{partition} does not exist")
            seen[partition] = member_id
    every = set().union(*wanted.values()) if wanted else set()
    expected = sum(topic.partitions for name, topic in known.items() if name in every)
    if len(seen) != expected - withheld:
        found.append(f"{len(seen)} of {expected} partitions given out, {withheld} withheld")
    return found


def is_balanced(members: Sequence[MemberSubscription], result: GroupAssignment) -> bool:
    """Whether no partition could move to a subscriber of its topic that has at least two fewer."""
    counts = {member_id: len(held) for member_id, held in result.partitions.items()}
    fewest: dict[str, int] = {}
    for one in members:
        for topic in one.topics:
            fewest[topic] = min(fewest.get(topic, counts[one.member_id]), counts[one.member_id])
    return all(
        counts[member_id] <= fewest.get(partition.topic, counts[member_id]) + 1
        for member_id, held in result.partitions.items()
        for partition in held
    )


def spread(result: GroupAssignment) -> int:
    """The largest count less the smallest."""
    counts = [len(held) for held in result.partitions.values()]
    return max(counts) - min(counts)


STICKY: tuple[type[Assignor], ...] = (StickyAssignor, CooperativeStickyAssignor)
_NAMES = ("a", "b.c", "Topic", "x-1", "long-topic-name")
_RACKS = ("r1", "r2", "r3")


@st.composite
def random_topics(draw: st.DrawFn, racks: bool = False) -> dict[str, TopicMetadata]:
    """One to five topics of one to nine partitions, on random racks if asked for."""
    found = {}
    for name in draw(st.lists(st.sampled_from(_NAMES), min_size=1, max_size=5, unique=True)):
        count = draw(st.integers(1, 9))
        replicas = st.lists(st.sampled_from(_RACKS), max_size=3, unique=True).map(tuple)
        placed = tuple(draw(st.lists(replicas, min_size=count, max_size=count))) if racks else ()
        found[name] = TopicMetadata(name, count, placed)
    return found


@st.composite
def random_members(
    draw: st.DrawFn, known: Topics, uniform: bool = False, racks: bool = False
) -> list[MemberSubscription]:
    """One to nine fresh members; each wants at least one topic, all the same ones if `uniform`."""
    ids = draw(
        st.lists(st.sampled_from([f"consumer-{n * 7 % 100}" for n in range(30)]), min_size=1, max_size=9, unique=True)
    )
    names = st.lists(st.sampled_from(sorted(known)), min_size=1, unique=True)
    same = draw(names)
    rack = st.sampled_from((*_RACKS, None)) if racks else st.none()
    return [member(one, " ".join(same if uniform else draw(names)), rack=draw(rack)) for one in ids]
