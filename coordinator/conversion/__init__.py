"""The conversions of a group with members to the other protocol, while it works.

Where to read:

    upgrade      a member of the consumer protocol joins a classic group
    downgrade    only classic members are left in a consumer group
    undone       the append of a conversion failed

`group.consumer.migration.policy` says whether it is allowed. A group without members needs no conversion: it is
deleted, and another one is created (`coordinator/partition/admission.py`).

A conversion is one append. When the append fails the group is what it was, but for its soft state: answers that were
given, and timers.
"""
