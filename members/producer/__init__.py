"""Simulated producers: batches, acknowledgements, retries, partitioners, transactions.

Where to read:

    producer      the public object, which scenarios and users hold
    process       one process: its parts, and the application
    load          what the application sends
    sources       records from a load, for the queues
    traffic       records by integer arithmetic, without an event for each
    accumulator   batches, one queue per partition
    partitioners  the partition of a record
    sizes         sizes of records and batches in bytes
    sender        Produce requests and their answers
    reactions     reactions to errors, as data
    identity      producer id, epoch, sequences
    transactions  an identity with a transactional id
    eos           consume, transform, produce in one transaction
    wires         connections to brokers
    topics        metadata: partition leaders
    settings      properties as typed settings
    keys          the table of Kafka's producer keys
    failures      records that fail
"""
