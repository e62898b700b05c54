"""trio in virtual and in real time, ordered wake-ups, seeded randomness, the trace.

Where to read:

    interface                              what every room may ask of a loop: events, stories, hosts; most need no more
    virtual                                how virtual time works on trio; begin here to know why a run is the same
                                           every time
    heap, agenda                           what will happen, and in which order
    loop, host, tasks, sync                what both drivers share: who runs, who waits, who is paused or killed as one
    at_once                                what has nothing to wait for, run within an event
    one_task                               the check that one runs at a time
    realtime, streams, signals             the same loop on the wall's clock, with sockets
    collector                              Python's search for garbage, kept from walking through a run again and again
    errors                                 what can go wrong with a run as a whole
    randomness, distributions              luck that is the same everywhere, and how people write it
    quantiles, normal_quantiles            distributions in integers alone
    trace                                  the trace: its events, and where they end
    units                                  microseconds, and the words people write for them

No other room imports trio, and of this one only what drives a loop.
"""
