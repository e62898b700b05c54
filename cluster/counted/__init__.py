"""Counted logs: the strategies of a cluster whose records are only counted. They cost about a third of replicated logs.

`docs/writing-a-scenario.md` lists the five differences. Each is one module: log ends by arithmetic and the fetches from
them (`data`), appends to `__consumer_offsets` (`offsets`), a controller that decides at once (`controller`),
and brokers that hear of it at once (`parts`).
"""
