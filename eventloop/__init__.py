"""trio in virtual and in real time, ordered wake-ups, seeded randomness, the trace.

Where to read:

    interface                              what every room may ask of a loop: events, stories, hosts; most need no more
    virtual                                how virtual time works on trio; begin here to know why a run is the same
                                           every time
    heap, agenda                           what will happen, and in which order
    loop, host, stories, sync              what both drivers share: who runs, who waits, who is paused or killed as one
    one_task                               the check that one runs at a time
    realtime, streams, signals             the same loop on the wall's clock, with sockets
    collector                              Python's search for garbage, kept from walking through a run again and again
    errors                                 what can go wrong with a run as a whole
    randomness, distributions              luck that is the same everywhere, and how people write it
    quantiles, normal_quantiles            distributions in integers alone
    trace, events, sinks, jsonlines        what is told, by which words, and where it ends
    units                                  microseconds, and the words people write for them

No other room imports trio.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from groupsim.eventloop.distributions import Distribution, parse_distribution
from groupsim.eventloop.errors import DeadlockError, EventLoopError, SchedulingError, StandstillError
from groupsim.eventloop.events import Kind, TraceEvent
from groupsim.eventloop.interface import Event, EventLoop, Handle, Host, Order, Queue, Task, Timeout
from groupsim.eventloop.randomness import Stream
from groupsim.eventloop.realtime import RealTimeLoop, run_realtime
from groupsim.eventloop.sinks import JsonLinesSink, MemorySink, ParquetSink, read_trace, sink_for, write_trace
from groupsim.eventloop.trace import FULL, NORMAL, OFF, Level, Trace
from groupsim.eventloop.units import DAY_US, HOUR_US, MINUTE_US, MS_US, SECOND_US, ms, parse_duration, seconds, show_us
from groupsim.eventloop.virtual import VirtualLoop, run_virtual

__all__ = [
    "DAY_US",
    "FULL",
    "HOUR_US",
    "MINUTE_US",
    "MS_US",
    "NORMAL",
    "OFF",
    "SECOND_US",
    "DeadlockError",
    "Distribution",
    "Event",
    "EventLoop",
    "EventLoopError",
    "Handle",
    "Host",
    "JsonLinesSink",
    "Kind",
    "Level",
    "MemorySink",
    "Order",
    "ParquetSink",
    "Queue",
    "RealTimeLoop",
    "SchedulingError",
    "StandstillError",
    "Stream",
    "Task",
    "Timeout",
    "Trace",
    "TraceEvent",
    "VirtualLoop",
    "ms",
    "parse_distribution",
    "parse_duration",
    "read_trace",
    "run_realtime",
    "run_virtual",
    "seconds",
    "show_us",
    "sink_for",
    "write_trace",
]

if TYPE_CHECKING:
    # Both drivers are what rooms are written against: checked here, by mypy.
    _LOOPS: tuple[EventLoop, EventLoop] = (VirtualLoop(), RealTimeLoop())
