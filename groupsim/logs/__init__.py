"""Broker and client logs of a run, with the messages and layouts of the real programs.

`broker-N.log` has Kafka's layout `[time] LEVEL message (logger)`; a member's file, `<host>.log`, has the same layout
for Java clients, and that of its library for others. The lines come from the trace alone, with the messages of the
broker's and the clients' versions. Virtual time 0 is `START`, in UTC. Source: log-formats reference, and logs of real
brokers and clients (docs/fidelity/logs.md).
"""
