"""Simulated consumers as in Kafka's Java client; other libraries are profiles of data.

Where to read:

    member, wake                           what the parts of a process share; the one flag that the poll loop waits for
    generation                             its state, generation and member id, as the client knows them
    parts, ports                           its parts as the others know them; all that a membership knows of it
    membership                             a part in a group protocol, as the rest of the client knows it
    links, backoff                         connections and every request on them; waits between attempts
    coordinator_client                     which broker coordinates the group
    metadata, leaders                      which topics and partitions there are; which broker leads which partition
    subscription                           which of them are wanted
    behaviour                              what the application does, and how long it takes
    settings, keys                         properties as they are pasted; every key there is
    failures, plugins                      what comes out of poll; defects of a user's assignor
    fetch_counts                           how many fetches there were
    interfaces                             what a consumer needs from above

Below it: `consumer` (what a user holds, and the application's poll loop), `classic` (the classic group protocol),
`commit` (offsets), `fetch` (positions and records), `profiles` (libraries and their defects), `producer`, and
`zookeeper` (the consumers of Kafka 0.8, which decide by themselves on a ZooKeeper).
"""
