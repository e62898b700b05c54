"""The group coordinator of a broker: groups, their members, generations and committed offsets.

Where to read:

    classic            begin here: the states of a group, and one module for each request of a member
    consumer           the consumer group of KIP-848, in the same manner
    conversion         a group with members that changes its protocol while it works
    offsets            requests for committed offsets, and their retention
    partition          the state of one partition of `__consumer_offsets`, and the table of admissions
    base               settings, records, timers and effects that the other packages share

    shard, replay      one partition of `__consumer_offsets` as a state machine, and its replay from the log
    admin              DescribeGroups, ListGroups, DeleteGroups
    service, fan_out   the coordinator of one broker, and answers joined from several partitions
    runtime            the partitions that the broker leads
    partition_driver   one of them: its shard, and the execution of the shard's effects
    loop_timers        the timers of a shard on the event loop
    ids                fresh member ids
    testing            a test bench for the shard

A request passes service, partition_driver, shard, the group (`classic/entry_points.py`) and the function that has the
request's name. That function changes the group and adds effects to the operation. The partition driver executes them.

The core (`shard` and all that it calls) does no input or output and reads no clock. The same core runs in virtual time,
behind a socket, and under exploration. A module that relies on facts about Kafka names their sources.
"""
