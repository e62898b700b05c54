"""The classic group: its data, its states, and what each of its requests does.

Where to read:

    states                                 begin here: five states, the ways between, what becomes of a JoinGroup
    group, member                          what is known of a group and of a member
    operation                              what every function of the core is given, and where it leaves effects
    join, sync, heartbeat, leave           a request each of a member, table by table
    static_replacement                     a static member that comes back under a new member id
    validation                             whether the sender is who it says it is
    rebalance, voting                      how a round opens and closes, and which protocol it chooses
    purgatory                              what waits, and what ends the wait
    commit, expiry                         who may commit offsets, and from when these count their retention
    describe, snapshot                     a group as DescribeGroups shows it, and as a value
    group_record, load                     a group as its record, and a group that is read from the log
    entry_points                           what the shard calls: the one kind of group there is
"""
