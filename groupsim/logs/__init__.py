"""Broker and client logs of a run, with the messages and layouts of the real programs.

`broker-N.log` has Kafka's layout `[time] LEVEL message (logger)`; a member's file, `<host>.log`, has the same layout
for Java clients, and that of its library for others. The lines come from the trace alone, with the messages of the
broker's and the clients' versions. Virtual time 0 is `START`, in UTC. Source: log-formats reference, and logs of real
brokers and clients (docs/fidelity/logs.md).

Where to read:

    files         begin here: the events of a run to one file for each host
    broker        a broker's lines about groups, from the coordinator's events
    broker_consumer  those about groups of the consumer protocol; their messages are in `broker_consumer_words`
    broker_life   its lines about itself and the partitions of the offsets topic
    broker_words  the messages of the other lines, by version
    clients       a member's lines: one log for each library
    wording       a message with its versions, as a template
    messages      the messages of Kafka's error codes
    layout        the date of a virtual time; Kafka's layout
    finding       `groupsim list "LINE"`: the scenes that log such a line
    reading       `groupsim explain PATH`: what the logs of a real incident say
"""
