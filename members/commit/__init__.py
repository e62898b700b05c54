"""Offset commits: at intervals, by the application, before a rebalance, and on close.

Where to read:

    committer                              when offsets are committed, and which
    attempt                                one attempt: its request and its result
    before_rebalance                       the commit before a rebalance
    before_reconciliation                  the commit before a reconciliation in a consumer group
"""
