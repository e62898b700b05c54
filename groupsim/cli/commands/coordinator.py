"""`groupsim coordinator`: the partition of `__consumer_offsets` of a group, its leader, and the groups that share it.

The partition is exact: `abs(hash(group id)) mod partitions`. The leader is that of a simple placement, partition i on
broker i mod n. A real cluster draws the first broker at random when it creates the topic, so its leaders are shifted.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from groupsim.cli import as_json
from groupsim.cli.exits import SUCCESS, Trouble
from groupsim.cli.terminal import Terminal
from groupsim.coordinator.base.placement import OFFSETS_TOPIC, partition_for
from groupsim.protocol.values import frozen

FEW = 3
"""Maximal number of groups that a cell names; the others are counted."""


@frozen
class Place:
    """The partition and the broker that coordinate a group."""

    group: str
    partition: int
    broker: int


def coordinator(groups: Sequence[str], brokers: int, partitions: int, wants_json: bool) -> int:
    """Print the partition and the leader of each group; return the exit code."""
    names = _names(groups)
    places = [Place(name, number := partition_for(name, partitions), number % brokers) for name in names]
    if wants_json:
        document = {
            "schema": as_json.SCHEMA,
            "brokers": brokers,
            "partitions": partitions,
            "groups": as_json.plain(places),
        }
        print(as_json.text(document))
    else:
        show(places, brokers, partitions, Terminal())
    return SUCCESS


def _names(groups: Sequence[str]) -> list[str]:
    """Return the given group ids, each once, with those of standard input in place of `-`."""
    found: dict[str, None] = {}
    for group in groups:
        found.update(dict.fromkeys(_of_stdin() if group == "-" else [group]))
    if not found:
        raise Trouble("no group is given", "write `groupsim coordinator GROUP…`, or `-` for one id per line on stdin")
    return list(found)


def _of_stdin() -> list[str]:
    return [line.strip() for line in sys.stdin if line.strip()]


def show(places: Sequence[Place], brokers: int, partitions: int, console: Console) -> None:
    """Print a row for each group, and the distribution of groups over brokers."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=True, header_style="dim")
    table.add_column("group", overflow="fold")
    table.add_column(f"partition of {OFFSETS_TOPIC}", justify="right")
    table.add_column("leader", justify="right")
    table.add_column("shares the partition with", overflow="fold")
    sharing: dict[int, list[str]] = {}
    for place in places:
        sharing.setdefault(place.partition, []).append(place.group)
    for place in places:
        others = [name for name in sharing[place.partition] if name != place.group]
        more = f" and {len(others) - FEW:,} more" if len(others) > FEW else ""
        cells = (place.group, str(place.partition), f"broker {place.broker}", ", ".join(others[:FEW]) + more)
        table.add_row(*(Text(cell) for cell in cells))
    console.print(table)
    for line in _spread(places, sharing, brokers, partitions):
        console.print(Padding(Text(line, "dim"), (0, 0, 0, 2), expand=False))


def _spread(places: Sequence[Place], sharing: Mapping[int, Sequence[str]], brokers: int, partitions: int) -> list[str]:
    by_broker = Counter(place.broker for place in places)
    spread = ", ".join(f"broker {node}: {by_broker[node]:,}" for node in range(brokers))
    used = f"groups by coordinator: {spread}; {len(sharing):,} of {partitions} partitions used"
    return [
        *([used] if len(places) > 1 else []),
        f"partition = abs(hash of the group id) mod {partitions} (offsets.topic.num.partitions)",
        f"leader = partition mod {brokers}; a real cluster draws the first broker when it creates the topic:",
        f"kafka-topics.sh --bootstrap-server HOST:9092 --describe --topic {OFFSETS_TOPIC}",
    ]
