"""Messages that are bytes inside other messages and records.

Where to read:

    consumer_protocol       Subscription and Assignment, versions 0 to 3
    assignment              the input and the result of an assignor
    sticky_data             the user data of the sticky assignors
    offset_records          keys and values of `__consumer_offsets`
    consumer_group_records  those of consumer groups
"""
