"""The controller: who is alive, who leads, where replicas lie, and what brokers learn of it.

Where to read:

    controller          the host: takes requests, keeps timers, commits and publishes
    image               the image in force, drafts over it, and their differences
    brokers             registrations, heartbeats, fencing, controlled shutdown
    sessions            which brokers were heard of lately
    partitions          which partitions a change concerns
    elections           the rules: leader, in-sync set, epochs of one partition
    placement           where replicas of new partitions go
    topic_changes       changes of topics, partitions and settings in a draft
    admin_requests      the requests of administrators, answered with these changes
    reassignment        the requests that move leaders and replicas
    metadata_publisher  how brokers hear of a new image
    agent               the broker's end: registers, beats, follows the image
    channel             one broker's connection to the controller
    alter_partition     the broker's end of AlterPartition
    metadata_store      what a cluster with a data directory keeps of itself
    journal             how a change of it is kept whole or not at all
    trace               what decisions look like in the trace
"""
