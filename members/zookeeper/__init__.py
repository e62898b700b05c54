"""The consumers that came before today's group protocol, to compare with.

    kinds        which names in a scenario mean an ancestor, and how one is made
    settings     the settings of 0.8's consumer, by their own names
    session      a session with ZooKeeper: its connection, its retries, its watches
    paths        what the consumers of a group write there
    assignors    range and roundrobin, as each member works them out for itself
    deciding     who gets what: what one member reads, and what it concludes
    connector    the consumer itself: registers, rebalances, claims, commits
    streams      the application's side: records, one after the other
    consumer     the process that scenarios hold

`zookeeper-0.8` is Kafka 0.8's high-level consumer: no coordinator, no leader, no generation. Members see each other's
nodes in ZooKeeper, and each decides alone. `java-0.9`, the first consumer of today's line, is no code of its own but a
client profile (`members/profiles/__init__.py`) that speaks the first versions of the group protocol to a broker of 0.9.
"""

from __future__ import annotations
