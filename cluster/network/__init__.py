"""The simulated network: connections, latencies, and faults.

Where to read:

    network            connections between hosts, and the injection of faults
    connection         one TCP connection, seen from both ends
    broker_connection  `BrokerConnection`: a connection as faults and brokers see it, simulated or real
    sockets            correlation ids, requests in flight, latencies of a connection
    endpoint           a host that answers requests: a broker, or the controller
    answers            the columns of a request and its response in the trace
    long_polls         a Fetch that stands for all its repetitions
    latency            latencies, drawn in blocks
    bandwidth          links of limited bandwidth
    faults             faults as values; `Fault` is their union
    injection          begin and end of a fault, by its type
    link_faults        the effect on links between hosts
    message_faults     the effect on single requests and responses
    causes             the cause of the events of a block
"""
