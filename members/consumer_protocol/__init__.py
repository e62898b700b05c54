"""The consumer group protocol (KIP-848) of a member, as in Kafka's asynchronous Java consumer.

Where to read:

    states                                 the ten states of a member, and the ways between them
    membership                             begin here: the membership as its client knows it, and its two actors
    parts                                  the membership as these two actors use it
    heartbeat, fields, errors              when a heartbeat is sent; what it has; what an error does
    reconciliation, assignment             from the target to an acknowledgement, step by step
    ownership, callbacks                   owned partitions; the callbacks that `poll` runs
    poll_timer                             max.poll.interval.ms
"""
