"""The conversion of a consumer group with members to the classic protocol, while it works.

Where to read:

    downgrade    only classic members are left in a consumer group

`group.consumer.migration.policy` says whether it is allowed. A group without members needs no conversion: it is
deleted, and another one is created (`coordinator/partition/admission.py`).

A conversion is one append. When the append fails the group is what it was, but for its soft state: answers that were
given, and timers.
"""
