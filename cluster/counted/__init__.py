"""Counted logs: a cluster whose records are only counted. They cost about a third of replicated logs.

`docs/writing-a-scenario.md` lists the five differences. The modules: log ends by arithmetic and their fetches (`feed`),
appends to `__consumer_offsets` (`offsets`), a controller without delays (`controller`), and the brokers' parts, which
apply its images at once (`broker_parts`).
"""
