"""The group coordinator: groups, their members, generations and offsets, as a broker keeps them.

Where to read:

    classic            begin here: a group's states, and a module for each request of a member
    offsets            requests for committed offsets, and when offsets go
    partition          what one partition of `__consumer_offsets` holds
    base               what all of these need: settings, records, timers, effects

    shard, replay      one partition of `__consumer_offsets`: a machine, effects out; what it knows from the log
    admin              groups described, listed, deleted
    service, fan_out   a broker's coordinator: what it answers, also from several partitions at once
    runtime            the partitions it leads
    partition_driver   one of these: its core, and the effects carried out
    loop_timers        timers of a core on the event loop
    ids                fresh member ids
    testing            the core on a bench, for tests

A request comes down: service, partition_driver, shard, the group (`classic/entry_points.py`), and the function that is
called like it, which changes the group and leaves effects with the operation. These go back up to the partition driver,
which carries them out.

The core (`shard` and all that it calls) does no input or output and knows no clock; the same core runs in virtual time,
behind a socket, and under exploration. A module that has facts of Kafka names their sources.
"""
