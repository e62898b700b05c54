"""The partitions that a member owns, whatever its group protocol.

Where to read:

    owned                                  owned partitions in the trace, and the listener's callbacks
"""
