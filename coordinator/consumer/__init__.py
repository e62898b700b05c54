"""The consumer group of KIP-848: its members, epochs, target assignment and the requests that it answers.

Where to read:

    state               the group as its records make it, with one `apply` for live and load, and the way back
    entry_points        the group with the methods that a partition calls
    member              one member as a value: its epochs, its state, the partitions that it owns or has to revoke
    request_checks      what a heartbeat must have before a group is looked for
    epoch_check         the member epoch of a heartbeat: accepted, or fenced
    reconciliation      the step of one member towards its target; begin here to understand the protocol
    preferred_assignor  the assignor that most members name
    timeline_order      the order of Kafka's maps, which decides ties
    metadata_hash       the hash of the subscribed topics; a change of it bumps the group epoch
    refused             the refusal of a request, with Kafka's message
"""
