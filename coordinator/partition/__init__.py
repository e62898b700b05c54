"""The state of one partition of `__consumer_offsets`: its groups by id, and their offsets.

Where to read:

    state                      the groups, the offsets, and the appends under way
    admission                  what a request means for a group of each kind, and for an absent one: one table
    registry                   all groups by id
    offset_store, offset_view  offsets with and without appends under way
"""
