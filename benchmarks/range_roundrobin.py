"""`range` and `roundrobin` beside kafka-python's: the same groups, in turns, each time under names not seen before.

Two times are taken of every round. `assign` is the call alone, from inputs that stand ready to the library's own
result: kafka-python's holds bare numbers by topic, ours slices of topics. `objects` goes on until every member's
partitions stand there as the library's TopicPartition objects, so that both have the same in hand. A `ratio` is
kafka-python's time over ours in a first round, with nothing kept from before; `again` is the same for a second round
of the same group in our process (kafka-python keeps nothing). Results are compared, and have to be equal.

Times are CPU time per round, medians over repetitions in which who goes first alternates. Making the inputs and giving
results back to the allocator are not counted for either. Small groups are timed in batches.

kafka-python 3.0.12's `roundrobin` raises KeyError when subscriptions differ, so such groups are left to `range`.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from itertools import count
from statistics import median
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from benchmarks.assignor_groups import Group, ours, subsets, their_assign, theirs, uniform
from groupsim.assignors import Assignor, RangeAssignor, RoundRobinAssignor
from groupsim.assignors.base.common import partition_cache

#: topics × partitions × members, equal subscriptions
SIZES = [
    (1, 3, 3),
    (1, 100, 10),
    (1, 1_000, 100),
    (1, 100, 1_000),
    (10, 1_000, 100),
    (100, 10, 50),
    (1_000, 4, 100),
    (1, 100_000, 1_000),
    (1, 1_000_000, 2_000),
]
#: The same with as many topics as each member picks.
PICKED = [(50, 20, 50, 12), (50, 8, 1_000, 3), (200, 50, 200, 50)]

BATCH = 2_000  # partitions, members and subscriptions of one timed batch, at least
REPETITIONS = (5, 31)  # at least, at most
ENOUGH_S = 1.5  # of CPU time, after the least number of repetitions

_marks = count()


class Took(NamedTuple):
    """CPU seconds of one round: the call alone, and with every member's partition objects made."""

    assign: float
    objects: float


Rounds = list[tuple[Any, Any]]


def _timed(assign: Callable[..., Any], look: Callable[[Any], Any], rounds: Rounds) -> tuple[Took, list[Any]]:
    """Time per round over a batch, and the objects of each round."""
    gc.collect()
    began = time.process_time()
    results = [assign(topics, members) for topics, members in rounds]
    assigned = time.process_time()
    objects = [look(result) for result in results]
    ended = time.process_time()
    return Took((assigned - began) / len(rounds), (ended - began) / len(rounds)), objects


def _our_objects(result: Any) -> dict[str, Sequence[tuple[str, int]]]:
    return {member: result.partitions[member] for member in result.partitions}


def _their_objects(result: Any) -> dict[str, Sequence[tuple[str, int]]]:
    return {member: given.partitions() for member, given in result.items()}


def _must_be_equal(mine: list[Any], peers: list[Any]) -> None:
    """Every member has the same partitions; kafka-python sorts topics, Kafka and we have them in another order."""
    for one, other in zip(mine, peers, strict=True):
        if {m: sorted(held) for m, held in one.items()} != {m: sorted(map(tuple, held)) for m, held in other.items()}:
            raise RuntimeError("the two libraries disagree, so there is nothing to compare")


def repetition(kind: type[Assignor], group: Group, peer_first: bool, check: bool) -> tuple[Took, Took, Took]:
    """One batch by kafka-python, by us with nothing kept from before, and by us again."""
    size = sum(group.topics.values()) + len(group.members) + sum(map(len, group.members.values()))
    batch = [group.renamed(next(_marks)) for _ in range(max(1, BATCH // size))]
    partition_cache.clear()
    mine = (kind().assign, _our_objects, [ours(one) for one in batch])
    peers = (their_assign(kind.name), _their_objects, [theirs(one) for one in batch])
    if peer_first:
        (peer, their_results), (first, our_results) = _timed(*peers), _timed(*mine)
    else:
        (first, our_results), (peer, their_results) = _timed(*mine), _timed(*peers)
    if check:
        _must_be_equal(our_results, their_results)
    del our_results, their_results
    return peer, first, _timed(*mine)[0]


def measure(kind: type[Assignor], group: Group) -> tuple[Took, Took, Took]:
    """The medians: kafka-python, our first round, our second."""
    repetitions: list[tuple[Took, Took, Took]] = []
    least, most = REPETITIONS
    began = time.process_time()
    while len(repetitions) < least or (len(repetitions) < most and time.process_time() - began < ENOUGH_S):
        number = len(repetitions)
        repetitions.append(repetition(kind, group, peer_first=number % 2 == 0, check=number == 0))
    peer, first, again = (Took(*map(median, zip(*column))) for column in zip(*repetitions))
    return peer, first, again


def _row(shape: str, peer: Took, first: Took, again: Took) -> list[str]:
    cells = [shape]
    for theirs_took, ours_took, later in zip(peer, first, again):
        ratios = (f"{theirs_took / ours_took:.1f}", f"{theirs_took / later:.1f}")
        cells += [f"{theirs_took * 1000:,.3f}", f"{ours_took * 1000:,.3f}", *ratios]
    return cells


def table_of(kind: type[Assignor]) -> Table:
    """All groups under one assignor, in milliseconds."""
    title = f"{kind.name}, ms: the call alone | with the partition objects"
    table = Table(title=title, title_justify="left")
    table.add_column("topics × partitions × members")
    for column in ("kafka-python", "ours", "ratio", "again") * 2:
        table.add_column(column, justify="right")
    groups = {" × ".join(f"{n:,}" for n in size): uniform(*size) for size in SIZES}
    if kind is RangeAssignor:
        groups |= {f"{' × '.join(f'{n:,}' for n in size[:3])}, {size[3]} each": subsets(*size) for size in PICKED}
    for shape, group in groups.items():
        table.add_row(*_row(shape, *measure(kind, group)))
    return table


def simple_assignors(console: Console) -> None:
    """Print the two tables."""
    for kind in (RangeAssignor, RoundRobinAssignor):
        console.print(table_of(kind))
