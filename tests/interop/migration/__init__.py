"""Twenty real pods roll to the consumer protocol and back: on `groupsim serve`, on Kafka, and in virtual time.

Where to read: `story` what is played and what is measured, `roll` with real processes, `jvm` Java's part of them,
`simulated` in virtual time, `ownership` how long a partition has no owner, `__main__` the table.
"""
