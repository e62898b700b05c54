"""Requests for committed offsets, and how long these are kept.

Where to read:

    requests       OffsetCommit, OffsetFetch, OffsetDelete
    transactions   offsets committed inside a producer's transaction
    retention      when offsets go
"""
