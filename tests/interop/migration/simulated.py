"""The story as a scenario in virtual time."""

from __future__ import annotations

import groupsim
from groupsim.eventloop.units import SECOND_US
from tests.interop.migration import story
from tests.interop.migration.story import BETWEEN_S, CLASSIC, DOWN_S, EACH, PARTITIONS, PODS, ROLLS, STEP_S, Found

PROFILES = {story.JAVA: "java-4.4", story.LIBRDKAFKA: "librdkafka-2.16"}
FORMED_S = 30
"""The group has formed long before."""
_OF_CLASSIC = {"heartbeat.interval.ms": story.HEARTBEAT_MS, "session.timeout.ms": story.SESSION_MS}


def scenario() -> str:
    """The text of the scenario file."""
    at, steps = float(FORMED_S), []
    for protocol in ROLLS:
        # A client refuses the settings of the classic protocol beside the other one.
        session = {name: value if protocol == CLASSIC else "null" for name, value in _OF_CLASSIC.items()}
        for pod in PODS:
            steps.append(
                f"  - {{at: {at:g}s, do: restart, member: {pod.name}, downtime: {DOWN_S:g}s, "
                f"properties: {_flow({'group.protocol': protocol, **session})}}}"
            )
            at += STEP_S
        at += BETWEEN_S
    members = [
        f"      {client}-{'static' if static else 'dynamic'}: {{count: {EACH}, client: {profile}, stagger: 500ms"
        + (', instance-id: "{name}"}' if static else "}")
        for static in (True, False)
        for client, profile in PROFILES.items()
    ]
    return "\n".join(
        (
            "title: Twenty pods roll to the consumer protocol, and back",
            f"run-for: {at + 20:g}s",
            'broker: {version: "4.4", properties: ' + _flow(story.BROKERS | _LEAST) + "}",
            f"topics: {{orders: {{partitions: {PARTITIONS}, rate: {PARTITIONS / story.TURN_S:g}/s}}}}",
            "groups:",
            "  g1:",
            "    processing: 1ms",
            f"    properties: {_flow(_OF_CLASSIC)}",
            "    members:",
            *members,
            "timeline:",
            *steps,
            "",
        )
    )


_LEAST = {"group.consumer.min.heartbeat.interval.ms": 100, "group.initial.rebalance.delay.ms": 500}


def _flow(values: dict[str, object]) -> str:
    return "{" + ", ".join(f"{name}: {value}" for name, value in values.items()) + "}"


def predicted(seed: int) -> Found:
    """What the scenario finds with a seed."""
    told = groupsim.tell(groupsim.run_scenario(groupsim.load_text(scenario()), seed=seed).events)
    group = told.groups[0]
    stood = [one for one in group.standstills if one.began_us >= FORMED_S * SECOND_US]
    dynamic = {pod.name for pod in PODS if not pod.static}
    return Found(
        max(one.length_us for one in stood) / SECOND_US,
        max(one.length_us for one in stood if one.origin in dynamic) / SECOND_US,
        sum(one.records.never for one in told.totals if one.records),
        tuple(f"{one.name}: {one.reason}" for one in group.evictions),
    )
