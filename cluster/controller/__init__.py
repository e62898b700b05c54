"""The controller: broker sessions, elections, placement of replicas, and publication of metadata to brokers.

Where to read:

    controller          the host: handles requests, has the timers, commits and publishes
    image               the image in force, drafts over it, and their differences
    brokers             registrations, heartbeats, fencing, controlled shutdown
    sessions            brokers with a recent heartbeat
    partitions          the partitions that an event affects
    elections           the rules: leader, in-sync set, epochs of one partition
    placement           the brokers of new partitions' replicas
    topic_changes       changes of topics, partitions and settings in a draft
    admin_requests      the requests of administrators, answered with these changes
    reassignment        the requests that move leaders and replicas
    metadata_publisher  the publication of images to brokers
    agent               the broker's end: registration, heartbeats, metadata
    channel             one broker's connection to the controller
    alter_partition     the broker's end of AlterPartition
    metadata_store      the stored metadata of a cluster with a data directory
    journal             atomic changes of stored metadata
    trace               the trace events of decisions
"""
