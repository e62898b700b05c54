"""The consumer group protocol (KIP-848) of a member, as in Kafka's asynchronous Java consumer.

Where to read:

    states                                 begin here: the ten states of a member, and the ways between them
"""
