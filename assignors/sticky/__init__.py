"""`sticky` and `cooperative-sticky`: balanced with few moves, as in Java's classes.

Where to read:

    sticky, cooperative, base              the two assignors, and their common part
    claims                                 the owners of partitions
    uniform                                quotas, where all subscriptions are equal
    general, balance, state, moves         the search for a balance elsewhere
    unassigned_partitions, load            partitions without an owner; members by their number of partitions
"""
