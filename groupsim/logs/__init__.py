"""Broker and client logs of a run, in the shapes people know from grep.

`broker-N.log` has the stock layout `[time] LEVEL message (logger)`; a member's file, `<host>.log`, has the same for
Java clients, and each other library's own. Only what the trace says is written, in the words of the broker's and
the clients' versions. Virtual time 0 is `START`, in UTC. Source: log-formats reference, and what brokers and clients
wrote (docs/fidelity/logs.md).
"""
