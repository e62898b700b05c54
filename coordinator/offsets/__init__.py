"""Requests for committed offsets, and how long these are kept.

requests       OffsetCommit, OffsetFetch, OffsetDelete
transactions   offsets committed inside a producer's transaction
retention      when offsets go
"""
