"""A broker's replicas: leaders, followers, in-sync sets, high watermarks, and the fetches between brokers.

Where to read:

    manager            all replicas of a broker: makes leaders and followers by the image
    broker_replicas    state shared by these modules: loop, settings, partitions
    partition          one replica: its log and its leader
    leader             the leader's state of a partition: followers, high watermark, waiting requests
    follower           appends and truncation on a follower
    follower_sessions  the leader's side of replication: a fetch session per follower
    fetcher            the follower's side: one fetch loop per leader
    isr                changes of the in-sync replicas, through the controller
    appends            Produce, and appends of coordinators
    consumers          fetches of consumers
    purgatory          parked requests, with their condition and deadline
    offsets            ListOffsets, OffsetForLeaderEpoch
    deletions          DeleteRecords
    log_maintenance    retention, compaction, flush
    inspection         sizes and producers of logs, for operators
"""
