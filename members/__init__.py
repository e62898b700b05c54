"""Simulated consumers as in Kafka's Java client; other libraries are profiles of data.

Where to read:

    member, wake                           the shared state of one process; the flag that its poll loop waits for
    generation                             client state, generation and member id
    parts, ports                           protocols of the parts; the ports of a membership
    membership                             the interface of a group protocol
    links, backoff                         connections and their requests; waits between attempts
    coordinator_client                     discovery of the group coordinator
    metadata, leaders                      topics and partitions; partition leaders and their epochs
    subscription                           the subscription, and the topics it resolves to
    behaviour                              what the application does, and how long that takes
    settings, keys                         consumer properties; the table of all configuration keys
    failures, plugins                      exceptions that poll throws; defects of a user's assignor
    fetch_counts                           counts of fetches
    interfaces                             what a consumer needs from the cluster

Sub-packages: `consumer` (the public object and the application's poll loop), `classic` (the classic group protocol),
`consumer_protocol` (that of KIP-848), `commit` (offsets), `fetch` (positions and records), `ownership` (what is owned,
and callbacks), `profiles` (libraries and their defects), `producer`, and `zookeeper` (the consumer of Kafka 0.8, which
rebalances through ZooKeeper without a coordinator).
"""
