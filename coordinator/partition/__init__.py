"""What a partition of `__consumer_offsets` holds: its groups by id, and their offsets.

Where to read:

    state                      the groups, the offsets, and the appends under way
    registry, group_kind       all groups by id, and what any kind of group can do
    offset_store, offset_view  offsets on the log, and those on their way there
"""
