"""A broker's replicas: leaders, followers, in-sync sets, high watermarks, and the fetches between brokers.

Where to read:

    manager            all replicas of a broker: leads or follows as the image says
    broker_replicas    what the modules here share: loop, settings, partitions
    partition          one replica: its log and who leads it
    leader             a partition led here: its followers, the high watermark, who waits
    follower           a partition copied here: taking records, truncation
    follower_sessions  the leader's side of replication: a fetch session per follower
    fetcher            the follower's side: one fetch loop per leader
    isr                who is in sync; changes go through the controller
    appends            Produce, and what coordinators write
    consumers          fetches of consumers
    purgatory          parked requests, with their condition and deadline
    offsets            ListOffsets, OffsetForLeaderEpoch
    deletions          DeleteRecords
    log_maintenance    retention, compaction, flushing
    inspection         sizes of logs and their producers, for operators
"""
