"""The expectations of a scenario, judged from the trace alone.

Where to read:

    evidence         begin here: what an expectation is judged from
    expectations     counts, states, owners, times, errors
    consumer_checks  epochs of a consumer group, and the step of its members
    event_checks     how often events happen, and the time between them
    order_checks     records of a partition in the order of their offsets
    record_checks    the account of records, lag, gaps
    fetch_checks     fetches: sent, empty, waiting
    invariant_check  an invariant holds during the whole run
    matching         events by kind and columns

An expectation is a class registered under its name in the file (`scenarios/language/registry.py` `check`).
"""
