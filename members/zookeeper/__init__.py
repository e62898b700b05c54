"""Kafka 0.8's high-level consumer, which rebalances through ZooKeeper, for comparison.

    kinds           clients that a scenario may name, and how they are made
    settings        settings by the names of 0.8
    session         a session with ZooKeeper: connection, retries
    watches         watches, and the listeners they call
    paths           the group's nodes in ZooKeeper
    nodes           operations on nodes
    assignors       range and roundrobin, computed by each member
    group_reader    the nodes that a member reads before it assigns
    connector       the consumer: registers, rebalances, claims, commits
    offsets         offsets in ZooKeeper
    streams         the application's side: records, one after the other
    consumer        the process that scenarios hold

`zookeeper-0.8` has no coordinator, no leader and no generation: members see each other's nodes in ZooKeeper, and each
decides alone. `java-0.9`, the first consumer with a coordinator, needs no code of its own: it is a profile
(`members/profiles/__init__.py`) with the first versions of the group protocol, for a broker of 0.9.
"""

from __future__ import annotations
