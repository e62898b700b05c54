"""Simulated producers: batches, acknowledgements, retries, partitioners, transactions.

Where to read:

    producer      the producer that scenarios and users hold
    process       one life of it: its parts, and the application
    load          what the application sends
    sources       from a load to records in queues
    traffic       records by integer arithmetic, without an event for each
    queues         batches, one queue per partition
    partitioners  which partition a record goes to
    sizes         what records take in bytes
    sender        Produce requests, and what comes of them
    reactions     what is done about each error, as data
    identity      producer id, epoch, sequences
    transactions  an identity with a transactional id
    eos           consume, transform, produce in one transaction
    wires         connections to brokers
    topics        metadata: who leads which partition
    settings      properties as typed settings
    keys          every key of Kafka's producer
    failures      records that are given up
"""
