"""The simulated cluster: network, brokers, topics and data, and the log of the coordinators.

Where to read:

    cluster        `Cluster`: what members and scenarios see; the life of brokers and topics
    config         settings under Kafka's names, a module for each part
    network        connections, latencies and faults between hosts
    broker         one broker: request handlers, and its part of `__consumer_offsets`
    controller     broker sessions, elections, replica placement, and the metadata image that brokers follow
    log            one partition on one broker: segments, epochs, producers, retention, compaction
    replica        logs as replicas: leader, follower, in-sync replicas, high watermark, parked fetches
    transactions   the coordinator of transactions
    replicated     the kind of cluster whose logs are real (`logs: replicated`)
    counted        the cheaper kind, with offsets by arithmetic (`logs: counted`)
    acl            the authorizer and the authorization checks of requests
    tcp            ports for real clients
    zookeeper      the ZooKeeper of old consumers
"""
