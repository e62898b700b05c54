"""The classic group: its data, its states, and its requests.

Where to read:

    states                                 begin here: the five states, the transitions, the answers to a JoinGroup
    group, member                          the data of a group and of a member
    transition                             the change of a group's state, with its trace event
    join, sync, heartbeat, leave           one request of a member each, table by table
    static_replacement                     a static member that joins again under a new member id
    validation                             the check of a sender's member id and instance id
    rebalance, voting                      how a round opens and closes, and which protocol it selects
    commit, expiry                         the check of an OffsetCommit, and the start of the offsets' retention
    describe, snapshot                     a group as DescribeGroups shows it, and as a value
    group_record, load                     a group as its record, and a group that is loaded from the log
    entry_points                           the class with the methods that the shard calls
"""
