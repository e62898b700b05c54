"""The Python client of the control port of `groupsim serve`. It needs the standard library only.

    from groupsim.control import Control

    with Control.connect("ready.json") as control:
        fault = control.fault("answer-error", to="next SyncGroup of app", is_="REBALANCE_IN_PROGRESS")
        control.await_group("orders-app", state="Stable", members=2)
        fault.await_hits(1)

Faults and actions are those of scenario files, with underscores for dashes (`for_="10s"` is `for: 10s`). A refused
request raises `ControlError` with the fact and the remedy; an expired wait raises `TimedOut`.
"""

from groupsim.control.client import Control
from groupsim.control.errors import ControlError, TimedOut, Unreachable
from groupsim.control.faults import Fault
from groupsim.control.process import Served, ServeFailed

__all__ = ["Control", "ControlError", "Fault", "ServeFailed", "Served", "TimedOut", "Unreachable"]
