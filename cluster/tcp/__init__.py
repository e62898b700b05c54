"""Brokers on ports of this machine, in real time, for real clients.

* `listeners.TcpListeners`: the ports of a cluster, one per broker, opened, closed, refused with the broker's lives.
* `connection.TcpConnection`: one client's connection: frames from `protocol.wire` in, requests through the broker's
  `receive`, responses out; faults concern it as they do a simulated one.
* `naming`: what a client is called in the trace and to faults. `directory`: what a broker can tell of names.
* `memory`: how much long messages may take together. `complaints`: the server's own log, kept short.

Sockets themselves are in `eventloop.streams`. Brokers and controller talk through the simulated network still: give it
a latency of a few microseconds (`serving.scenario`). The server as users start it is the room `serving`.
"""

from groupsim.cluster.tcp.connection import TcpConnection
from groupsim.cluster.tcp.listeners import TcpListeners

__all__ = ["TcpConnection", "TcpListeners"]
