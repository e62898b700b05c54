"""The served cluster's log: lines for people, JSON lines for programs."""

from __future__ import annotations

import io
import json

import structlog

from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.serving.log import EventLog, server_log

HOUR_US = 3_600_000_000


def failed() -> Exception:
    """An exception with a traceback."""
    try:
        raise KeyError("orders")
    except KeyError as error:
        return error


def test_a_line_for_people_has_time_level_event_and_values() -> None:
    """A warning is marked; a sequence number is for programs; a name cannot command the terminal."""
    file = io.StringIO()
    log = server_log(file, lambda: HOUR_US)
    log.info("stopped", seq=3)
    log.warning("unreadable", client="a\x1b[2J", left_out=4)
    assert file.getvalue().splitlines() == [
        "01:00:00 stopped",
        "01:00:00 warning: unreadable (client a\\x1b[2J, left_out 4)",
    ]


def test_an_exception_is_below_its_line() -> None:
    """A defect of the server is logged with its traceback."""
    file = io.StringIO()
    server_log(file, lambda: 0).error("an error in the cluster", exc_info=failed(), where="broker-1")
    first, *rest = file.getvalue().splitlines()
    assert first == "00:00:00 error: an error in the cluster (where broker-1)"
    assert (rest[0], rest[-1]) == ("Traceback (most recent call last):", "KeyError: 'orders'")


def test_a_json_line_has_the_same_in_order() -> None:
    """Time, level and event come first; a traceback is `error`; values that JSON does not know are text."""
    file = io.StringIO()
    server_log(file, lambda: 0, as_json=True).error("failed", exc_info=failed(), where=Kind.WARNING)
    found = json.loads(file.getvalue())
    assert list(found) == ["time", "level", "event", "where", "error"]
    assert (found["level"], found["event"], found["where"]) == ("error", "failed", str(Kind.WARNING))
    assert found["error"].endswith("KeyError: 'orders'")


def test_the_end_of_a_fault_repeats_what_it_was() -> None:
    """The trace has the words of a fault in its begin alone; the log has them in both lines."""
    file = io.StringIO()
    log = EventLog(server_log(file, lambda: 0))
    log.write(TraceEvent(seq=1, t_us=0, kind=Kind.FAULT_BEGUN, span=7, reason="answers of broker-1 are lost"))
    log.write(TraceEvent(seq=2, t_us=0, kind=Kind.FAULT_ENDED, span=7, reason="for=5s"))
    assert file.getvalue().splitlines() == [
        "00:00:00 fault: answers of broker-1 are lost",
        "00:00:00 fault over: answers of broker-1 are lost (for=5s)",
    ]


def test_a_closed_terminal_does_not_end_the_server() -> None:
    """A line that cannot be written is dropped."""
    file = io.StringIO()
    log = server_log(file, lambda: 0)
    file.close()
    log.info("stopped")


def test_a_users_own_structlog_stays_as_it_was() -> None:
    """The log is not structlog's global configuration."""
    structlog.reset_defaults()
    server_log(io.StringIO(), lambda: 0)
    assert not structlog.is_configured()


def test_a_conversion_is_logged() -> None:
    """The line has both protocols and the reason."""
    file = io.StringIO()
    event = TraceEvent(1, 0, Kind.GROUP_CONVERTED, group="g", from_="classic", to="consumer", reason="m joins")
    EventLog(server_log(file, lambda: 0)).write(event)
    assert "group g goes from the classic to the consumer protocol: m joins" in file.getvalue()
