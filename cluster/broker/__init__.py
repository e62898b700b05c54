"""One broker: its partitions, its metadata, the log of its coordinators, and what administrators ask.

Where to read:

    broker          `Node`: one broker, its life and its parts
    parts           the protocols behind which the kinds of logs lie
    metadata        answers to Metadata and FindCoordinator, from the broker's image
    offsets_topic   `__consumer_offsets` as the coordinator of one broker writes and reads it
    offset_batches  its records as batches, and back
    admin           what administrators and operators ask
"""
