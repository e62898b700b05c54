"""`sticky` and `cooperative-sticky`: balanced, with few partitions moved, as in Java's classes.

Where to read:

    sticky, cooperative, base              the two assignors, and what they share
    claims                                 who owns what
    uniform                                quotas, where all subscriptions are equal
    general, balance, state, moves         the search for a balance elsewhere
    left, load                             partitions still to be given out; members by their number of partitions
"""
