"""Positions and records: pulled from partition leaders as in Java, pushed, or from the light cluster.

Where to read:

    positions                              the position of each owned partition
    fetcher, flights                       begin here: the records of a poll; the Fetch in flight to each broker
    state, completed                       one owned partition; one partition of a Fetch answer
    resets, validation, lookups            auto.offset.reset; log truncation; the requests of both
    refusals                               reactions to a refused partition
    light                                  records on the light cluster
    push_fetcher, pushes                   the push model: brokers that push
"""
