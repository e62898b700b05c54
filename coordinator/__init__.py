"""The group coordinator: groups, their members, generations and offsets, as a broker keeps them.

Where to read:

    states      the five states and every way between them: begin here
    join, replace, sync, heartbeat, leave, commit    one request each
    rebalance   how a round opens and closes
    purgatory, timers    what waits, and what ends the wait
    shard       one partition of `__consumer_offsets`: a state machine, effects out
    service, leadership, alarms    a broker's coordinator around it, on the event loop
    testing     the state machine at the end of a string, for tests

The core (everything below `shard`) does no input or output and knows no clock; the same core runs in virtual time,
behind a socket, and under exploration.
"""
