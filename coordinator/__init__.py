"""The group coordinator: groups, their members, generations and offsets, as a broker keeps them.

Where to read:

    states                                 begin here: five states, the ways between, what becomes of a JoinGroup
    group, member                          what is known of a group and of a member
    turn, effects                          what every function of the core is given, and what it says is to follow
    join, replace, sync, heartbeat, leave  a request each of a member, table by table
    validation                             whether its sender is who it says it is
    rebalance, voting                      how a round opens and closes, and which protocol it chooses
    purgatory, timers                      what waits, and what ends the wait

    commit, offsets, transactions          committed offsets: who may commit, what is written and told
    offset_store, offset_view              where they are kept, with what is on its way to the log
    retention, expiry                      when they go
    admin, describing, snapshot            groups described, listed, deleted; a group as a value

    records, writing, serde                what stands in the log, of what it is made, and as which bytes
    loading, replay                        what a broker that takes over knows, from the log
    kinds, classic, registry               what any kind of group can do, the one kind there is, and all groups by id
    partition, shard                       one partition of `__consumer_offsets`: its state; a machine, effects out

    service, merging                       a broker's coordinator: what it answers, also from several partitions at once
    runtime, leadership, alarms            the partitions it leads, each with its core, on the event loop
    interfaces, placement, ids, failures   what it needs from above; where a group belongs; member ids; errors
    config, versions                       its settings, and what coordinators of other releases do otherwise
    defects                                bugs of single releases, by Kafka's issue
    testing                                the core on a bench, for tests

A request comes down: service, leadership, shard, the group (`classic`), and the function that is called like it, which
changes the group and leaves effects with the turn. These go back up to the leadership, which carries them out.

The core (`shard` and all that it calls) does no input or output and knows no clock; the same core runs in virtual time,
behind a socket, and under exploration. A module that has facts of Kafka names their sources.
"""
