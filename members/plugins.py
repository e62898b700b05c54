"""How a defect of a user's own assignor is reported.

By default it ends the run, with the assignor, the user's file and line, time and generation. With `as-kafka` the trace
records it and the client goes on as in Java: poll throws the exception, and an invalid assignment is sent.
Source: assignors reference, section 8.
"""

from __future__ import annotations

from groupsim.assignors.base.errors import AssignorError
from groupsim.eventloop.trace.events import Kind
from groupsim.members.failures import ClientFailure, PluginError, PluginErrors
from groupsim.members.ports import Ports

_AS_JAVA = "KafkaException"


def report(member: Ports, error: AssignorError) -> ClientFailure:
    """Emit the defect. Raises PluginError unless `as-kafka`; returns the exception that poll throws in that case."""
    text = f"assignor {error.assignor!r}: {error.problem}"
    member.emit(Kind.PLUGIN_ERROR, reason=text, payload={"where": error.where})
    if member.plugin_errors is PluginErrors.STOP:
        raise PluginError(
            assignor=error.assignor,
            problem=error.problem,
            where=error.where,
            now_us=member.now_us,
            generation=member.generation.id,
        ) from (error.__cause__ or error)
    return ClientFailure(_AS_JAVA, text)
