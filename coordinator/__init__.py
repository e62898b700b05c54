"""The group coordinator: groups, their members, generations and offsets, as a broker keeps them.

Where to read:

    states      the five states, every way between them, what becomes of a JoinGroup: begin here
    group, member    what is known of a group; `classic` is the one kind of group there is
    turn, effects    what every function of the core is given, and what it says is to follow
    join, replace, sync, heartbeat, leave    one request each of a member
    steady      the short ways of a heartbeat while nothing happens
    rebalance, voting    how a round opens and closes, and which protocol it chooses
    purgatory, timers    what waits, and what ends the wait
    commit, offsets, transactions    committed offsets: who may, and where they are kept
    retention, expiry    when they go
    loading, replay, serde    what a broker that takes over knows, from the log
    admin, describing    describe, list, delete
    shard       one partition of `__consumer_offsets`: a state machine, effects out
    service     a broker's coordinator: what it answers
    runtime, leadership, alarms    the partitions it leads, each with its core, on the event loop
    versions    what coordinators of other releases do otherwise
    testing     the state machine at the end of a string, for tests

A request comes down: service, leadership, shard, the group (`classic`), and the function that is called like it, which
changes the group and leaves effects with the turn. These go back up to the leadership, which carries them out.

The core (`shard` and all that it calls) does no input or output and knows no clock; the same core runs in virtual time,
behind a socket, and under exploration. A module that has facts of Kafka names their sources.
"""
