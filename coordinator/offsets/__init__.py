"""Requests for committed offsets, and the retention of offsets.

Where to read:

    requests       OffsetCommit, OffsetFetch, OffsetDelete
    transactions   offsets committed inside a producer's transaction
    retention      the deletion of expired offsets and of empty groups
"""
