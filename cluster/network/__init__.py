"""The simulated network: connections, latencies, and faults.

Where to read:

    network            connections between hosts, and where faults are injected
    connection         one TCP connection, seen from both ends
    broker_connection  `BrokerConnection`: what faults and brokers need of a connection, simulated or real
    sockets            correlation ids, what is in flight, latencies of a connection
    endpoint           who answers: a broker, or the controller
    answers            what the trace says of a request and its response
    long_polls         a Fetch that stands for all its repetitions
    latency            latencies, drawn in blocks
    bandwidth          links of limited bandwidth
    faults             faults as values; `Fault` is their union
    injection          a fault begins and ends: dispatch on its type
    link_faults        the effect on links between hosts
    message_faults     the effect on single requests and responses
    causes             the event that what follows has as its cause
"""
