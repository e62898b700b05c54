"""The cause of each rebalance, the member that held it open, and the owners of partitions.

Where to read:

    rounds            begin here: from the coordinator's rounds to generations
    epoch_rounds      the rounds of a consumer group, from its epochs
    zookeeper_rounds  the rounds of groups without a coordinator
    conversions       a group that changes its protocol

    blame             the cause of a rebalance, and the member that caused it
    origins           the step or fault behind a member's end
    metadata_changes  the change of metadata for which a member joined again
    evictions         members removed without LeaveGroup
    silence           why a member was silent or late
    hindrances        what else delayed a group

    assignments       the assignment that the leader computed
    holdings          who holds a partition, while the trace is read
    ownership         the owners of each partition, and its unserved time
    partition_set     partitions as ranges, and their owners
    stalls            an owner that processes nothing

    takeovers, copies a group without a coordinator; a group with more than one
    rollouts          the duration of a rollout
"""
