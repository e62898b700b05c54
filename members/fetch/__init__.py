"""Positions and records: pulled from the leaders of partitions as Java does, pushed, or from a stand-in for the data.

Where to read:

    fetching                               positions: where to go on in each owned partition
    fetcher, flights                       begin here: a poll's records; which broker has a Fetch in its hands
    state, completed                       one owned partition; what one Fetch found in one partition
    resets, validation, lookups            auto.offset.reset; was the log cut; what both questions have in common
    refusals                               what a refused Fetch leads to
    light                                  records from a stand-in for the data
    pushed, pushes                         the other model: brokers that push
"""
