"""The trace: its events, their emission, and its sinks.

Where to read:

    events            the one class of events, and the closed list of kinds
    trace             the interface for rooms: `emit`, levels, the ambient cause
    sinks, jsonlines  JSON Lines, Parquet, a list; and reading them
"""
