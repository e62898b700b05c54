"""The consumer group of KIP-848: its members, epochs, target assignment and the requests that it answers.

Where to read:

    member         one member as a value: its epochs, its state, the partitions that it owns or has to revoke
"""
