"""The classic group protocol of a member: rebalance, heartbeats, leader, ownership.

Where to read:

    membership, parts                      the membership as its client knows it; protocols of its parts
    rebalance, stages, requests            begin here: one rebalance, stage by stage; the group's requests
    leader, ownership                      the leader's assignment; owned partitions and the listener's callbacks
    pauses, reasons, topics_ready          waits and reasons of a rejoin; the topics it needs
    away, sync_retry                       what libraries do while the application is away; a SyncGroup sent again
    heartbeat, poll_clock                  heartbeats and the client's session; max.poll.interval.ms
    main_thread_heartbeat                  heartbeats of a library with a main thread
"""
