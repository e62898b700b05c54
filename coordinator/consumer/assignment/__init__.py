"""What the members of a consumer group shall have, and how each of them gets there.

Where to read:

    reconciliation      the step of one member towards its target; begin here to understand the protocol
    target              a new target: when it is due, and its records
    subscriptions       the topics of a group, counted by name and by regular expression
    alike               whether all members subscribe to the same topics
    resolution          the topics that match regular expressions
    preferred_assignor  the assignor that most members name
    metadata_hash       the hash of the subscribed topics; a change of it bumps the group epoch
    topics_metadata     whether the topics differ from what the group remembers: a hash, or the record of 4.0
    timeline_order      the order of Kafka's maps, which decides ties
    partition_order     the order of partitions in the records of members
"""
