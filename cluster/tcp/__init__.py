"""Brokers on ports of this machine, in real time, for real clients.

* `listeners.TcpListeners`: the ports of a cluster, one per broker, opened, closed, refused with the broker's lives.
* `connection.TcpConnection`: one client's connection: frames from `protocol.wire` in, requests through the broker's
  `receive`, responses out; faults affect it like a simulated one.
* `naming`: a client's name in the trace and for faults. `directory`: names of topics and addresses of brokers.
* `memory`: the limit on the memory of long messages. `rate_limited_log`: the server's own log.

Sockets are in `eventloop.streams`. Brokers and controller still use the simulated network: give it a latency of a few
microseconds (`serving.scenario`). The room `serving` is the server that users start.
"""

from groupsim.cluster.tcp.connection import TcpConnection
from groupsim.cluster.tcp.listeners import TcpListeners

__all__ = ["TcpConnection", "TcpListeners"]
