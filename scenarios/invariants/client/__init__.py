"""Invariants of clients, and of what members get, process and commit.

Where to read:

    states        the states, epochs, callbacks and owners of clients
    heartbeats    when a client sends a heartbeat, and when it may be refused
    views         what clients own beside what the coordinator has given them
    consumption   the offsets that members get and commit
    hand_over     what the next owner of a partition begins with
    processing    what is processed, and what an application hears of its commits
"""
