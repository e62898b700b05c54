"""Invariants: what holds at every instant of a run, checked while it runs.

An expectation `invariant: NAME` switches one on, `invariant: all` every one. The checkers read each event of the trace
and each input to a partition of a coordinator, with the state of its groups after it and the answers that follow from
it. They keep what the present state needs, so their memory does not grow with the run, and they change nothing.

Where to read:

    table       begin here: every invariant with its name, its sentence and its source
    watch       the run's events and inputs, handed to the checkers; the first violation of each invariant
    violation   a violation as a value, and as text
    steps       one input to a partition of a coordinator, and what it changed in a consumer group
    checker     the base of the checkers

    epochs, ownership   the epochs of a group and its members; who has a partition
    targets             the target assignment: what it covers, and how even it is
    revocation          the steps of one member towards its target
    answers, commits, offsets  what members are answered, and what they may commit and fetch
    timers, failover    sessions and time limits; what survives another coordinator
    conversion          what a group keeps when its protocol changes
    progress, barriers  that groups of both protocols come to rest
    client/             what clients do, and what members get, process and commit

Source of all: consumer-protocol reference, section 3; its table of false alarms binds.
"""
