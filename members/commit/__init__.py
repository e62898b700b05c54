"""Offsets that are committed: at intervals, by the application, before a rebalance, and on close.

Where to read:

    committer                              when, and what becomes of positions
    attempt                                one try to commit
    before_rebalance                       the commit before a rebalance
"""
