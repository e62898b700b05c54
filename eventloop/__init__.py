"""trio in virtual and in real time, ordered wake-ups, seeded randomness, the trace.

Where to read:

    interface                              the loop as rooms use it: events, tasks, hosts; most need no more
    virtual                                virtual time on trio, and why a run is the same every time
    heap, agenda                           scheduled entries, and their order
    loop, host, tasks, sync                the common part of both drivers: tasks, hosts that pause or crash, waiting
    immediate                              an async function without a wait, run within an event
    one_task                               the check that one task runs at a time
    realtime, streams, signals             the same loop on the wall's clock, with sockets
    collector                              rarer runs of Python's garbage collector during a run
    errors                                 errors of a run as a whole
    randomness, distributions              reproducible randomness, and its notation
    quantiles, normal_quantiles            distributions in integers alone
    trace                                  the trace: its events and its sinks
    units                                  microseconds, and the notation of durations

No other room imports trio, and only the drivers of a loop import more of this one.
"""
