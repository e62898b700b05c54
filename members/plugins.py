"""What a defect of a user's own assignor does to the run.

By default it ends the run, with assignor, the user's file and line, time and generation. With `as-kafka` the trace
tells of it and the client goes on as Java's would: an exception comes out of poll, a senseless assignment is sent.
Source: assignors reference, section 8.
"""

from __future__ import annotations

from groupsim.assignors.base.errors import AssignorError
from groupsim.eventloop.trace.events import Kind
from groupsim.members.failures import ClientFailure, PluginError, PluginErrors
from groupsim.members.ports import Ports

_AS_JAVA = "KafkaException"


def report(member: Ports, error: AssignorError) -> ClientFailure:
    """Say what the assignor did. Raises PluginError unless `as-kafka`; returns what poll throws there."""
    text = f"assignor {error.assignor!r}: {error.problem}"
    member.say(Kind.PLUGIN_ERROR, reason=text, payload={"where": error.where})
    if member.plugin_errors is PluginErrors.STOP:
        raise PluginError(
            assignor=error.assignor,
            problem=error.problem,
            where=error.where,
            now_us=member.now_us,
            generation=member.generation.id,
        ) from (error.__cause__ or error)
    return ClientFailure(_AS_JAVA, text)
