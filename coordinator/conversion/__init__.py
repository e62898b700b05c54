"""The conversions of a group with members between the classic protocol and the consumer protocol, while it works.

Where to read:

    upgrade      a heartbeat of the consumer protocol to a classic group
    downgrade    only classic members are left in a consumer group
    assignments  the assignment of a classic member in Kafka's bytes, both ways

`group.consumer.migration.policy` says which of the two is allowed. A group without members needs no conversion: it is
deleted, and another one is created (`coordinator/partition/admission.py`).

A conversion is one append. When the append fails the group is what it was, but for its soft state: answers that were
given, and timers.
"""
