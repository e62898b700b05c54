"""The trace: its events, what emits them, and where they end.

Where to read:

    events            the one class of events, and the closed list of kinds
    trace             what rooms see of it: `emit`, levels, the ambient cause
    sinks, jsonlines  JSON Lines, Parquet, a list; and the way back
"""
