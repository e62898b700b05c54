"""Simulated consumers as in Kafka's Java client, other libraries as profiles of data, and the assignors leaders run.

Where to read: `consumer` is what one holds, `poll_loop` the story of a process, `joining` the rebalance as a member
goes through it; `profiles`, `reactions` and `settings` are the data.
"""
