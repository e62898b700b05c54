"""One broker: its partitions, its metadata, the log of its coordinators, and requests of administrators.

Where to read:

    broker          `Broker`: one broker, its life and its parts
    parts           the protocols that the kinds of logs implement
    metadata        answers to Metadata and FindCoordinator, from the broker's image
    topic_views     the topics as the coordinator of the broker sees them
    group_configs   the settings of groups as the coordinator of the broker sees them
    offsets_topic   `__consumer_offsets` as the coordinator of one broker writes and reads it
    offset_batches  its records as batches, and back
    admin           requests of administrators and operators
"""
