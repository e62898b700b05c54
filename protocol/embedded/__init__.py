"""What stands as bytes inside messages and records.

Where to read:

    consumer_protocol  Subscription and Assignment, versions 0 to 3
    assignment         what an assignor is given and what it gives back
    sticky_data        what the sticky assignors remember in a subscription's user data
    offset_records     keys and values of `__consumer_offsets`
"""
