"""The rules of the linter, by subject.

Where to read:

    names        names of settings: misspelt, too new, another library's
    values       single values
    ranges       the broker's settings and its limits for clients
    timeouts     times that contradict each other
    membership   assignors, static members, numbers of members
    idle         settings without effect beside another one
    reading      how a consumer fetches
    workload     the application's times against its settings
    writes       a topic and its producers
    producers    a producer's own settings
    replication  the brokers' replicas
    migration    changes with the consumer protocol (KIP-848)
"""
