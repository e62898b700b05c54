"""Faults of the control port: when they are over."""

from __future__ import annotations

from groupsim.eventloop.units import seconds
from groupsim.serving.active_faults import LiveFault


def test_a_fault_that_is_done_at_once_is_over_at_once() -> None:
    """Without parts in the network and without a time nothing is left that could end, so it may be forgotten."""
    fault = LiveFault("f1", {"fault": "fail-append"}, [], began_us=5, until_us=None)
    assert fault.over(5)
    assert fault.document(5)["over"] is True


def test_a_fault_that_nobody_watches_is_over_when_its_time_is() -> None:
    """A frozen broker goes on by itself: the fault lasts as long as was said."""
    fault = LiveFault("f1", {"fault": "freeze-broker"}, [], began_us=0, until_us=seconds(3))
    assert not fault.over(seconds(3) - 1)
    assert fault.over(seconds(3))
