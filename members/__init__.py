"""Simulated consumers as in Kafka's Java client, other libraries as profiles of data, and the assignors leaders run.

Where to read:

    consumer                               what one holds; it puts the parts of a process together
    member, wake                           what the parts share, and the one flag that the story waits for
    poll_loop, rounds                      the application's thread as a story; what of it passes as events
    joining, stages, requests              begin here: the rebalance as a member goes through it; what it sends
    leader, ownership                      the leader's part in it; partitions and the listener's callbacks
    pauses, reasons, topics_ready          when it tries again, with which words, and what it waits for before
    meanwhile, resyncing                   what a library does of it while the application is away, or once more
    coordinator_client, links, backoff     which broker coordinates the group; connections; waits between attempts
    heartbeat, poll_clock                  what keeps the membership alive; max.poll.interval.ms
    committing, fetching, light            offsets; positions; records from a stand-in for the data
    commit_attempt, commit_before          one try to commit; the commit before a rebalance
    metadata, subscription                 which topics and partitions there are, and which of them are wanted
    leaving                                unsubscribe, and the clean close

    behaviour                              what the application does, and how long it takes
    workers                                threads of the application that do not come back
    settings, keys                         properties as they are pasted; every key there is
    profile, profiles, reactions           what libraries do differently, and what they do about an error: data
    defects                                bugs of single releases, by issue: what each changes in a profile
    failures, plugins                      what comes out of poll; defects of a user's assignor
    interfaces                             what a consumer needs from above

Below it: `assignors`, `pull` (records from the partitions' leaders, as with Kafka), `producer`, and `ancestors`
(the consumers of Kafka 0.8, which decide by themselves on a ZooKeeper).
"""
