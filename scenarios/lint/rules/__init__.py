"""The rules of the linter, by what they look at.

Where to read:

    names        names of settings: misspelt, too new, another library's
    values       single values
    ranges       the broker's settings and its bounds for clients
    timeouts     times that contradict each other
    membership   assignors, static members, numbers of members
    idle         settings that do nothing beside another one
    reading      how a consumer fetches
    workload     what the application does, against its settings
    writes       a topic and who writes to it
    producers    a producer's own settings
    replication  the brokers' replicas
    migration    what changes with the new protocol (KIP-848)
"""
