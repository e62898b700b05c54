"""The classic group protocol as a member goes through it: joining, heartbeats, the leader's part, ownership.

Where to read:

    membership, parts                      the machine as its client knows it; its parts as they know each other
    joining, stages, requests              begin here: the rebalance as a member goes through it; what it sends
    leader, ownership                      the leader's part in it; partitions and the listener's callbacks
    pauses, reasons, topics_ready          when it tries again, with which words, and what it waits for before
    away, resyncing                        what a library does of it while the application is away, or once more
    heartbeat, poll_clock                  what keeps the membership alive; max.poll.interval.ms
    main_thread_heartbeat                  the same in a library with a main thread
"""
