"""The Python client of `groupsim serve`'s control port: the standard library only.

    from groupsim.control import Control

    with Control.connect("ready.json") as control:
        fault = control.fault("answer-error", to="next SyncGroup of app", is_="REBALANCE_IN_PROGRESS")
        control.await_group("orders-app", state="Stable", members=2)
        fault.await_hits(1)

Faults and actions are those of scenario files, with underscores for dashes (`for_="10s"` is `for: 10s`). What the port
refuses is a `ControlError` with what was wrong and the remedy; what does not come about in time is a `TimedOut`.
"""

from groupsim.control.client import Control
from groupsim.control.errors import ControlError, TimedOut, Unreachable
from groupsim.control.faults import Fault
from groupsim.control.process import Served, ServeFailed

__all__ = ["Control", "ControlError", "Fault", "ServeFailed", "Served", "TimedOut", "Unreachable"]
