"""The story as a scenario in virtual time."""

from __future__ import annotations

import groupsim
from groupsim import Story
from groupsim.eventloop.units import SECOND_US
from tests.interop.migration import story
from tests.interop.migration.story import CLASSIC, DOWN_S, EACH, PARTITIONS, PODS, SCHEDULE, Found

PROFILES = {story.JAVA: "java-4.4", story.LIBRDKAFKA: "librdkafka-2.16"}
_APPLICATION = ("    processing: 1ms", "    poll-timeout: 50ms", "    commit: on-revoke")
"""As the member programs are. The wait in poll is a part of each callback, and heartbeats move with it."""
FORMS_S = 30
"""The group has formed long before."""
_OF_CLASSIC = {"heartbeat.interval.ms": story.HEARTBEAT_MS, "session.timeout.ms": story.SESSION_MS}


def scenario(formed_s: float | None) -> str:
    """The text of the scenario file, of a group that has formed at that second; None: it forms, and that is all."""
    steps = []
    for close in SCHEDULE if formed_s is not None else ():
        # A client refuses the settings of the classic protocol beside the other one.
        session = {name: value if close.protocol == CLASSIC else "null" for name, value in _OF_CLASSIC.items()}
        steps.append(
            f"  - {{at: {formed_s + close.after_s:.6f}s, do: restart, member: {close.pod.name}, downtime: {DOWN_S:g}s, "
            f"properties: {_flow({'group.protocol': close.protocol, **session})}}}"
        )
    ends_s = FORMS_S if formed_s is None else formed_s + SCHEDULE[-1].after_s + 20
    members = [
        f"      {client}-{'static' if static else 'dynamic'}: {{count: {EACH}, client: {profile}, stagger: 500ms"
        + (', instance-id: "{name}"}' if static else "}")
        for static in (True, False)
        for client, profile in PROFILES.items()
    ]
    return "\n".join(
        (
            "title: Twenty pods roll to the consumer protocol, and back",
            f"run-for: {ends_s:.6f}s",
            'broker: {version: "4.4", properties: ' + _flow(story.BROKERS | _LEAST) + "}",
            f"topics: {{orders: {{partitions: {PARTITIONS}, rate: {PARTITIONS / story.TURN_S:g}/s}}}}",
            "groups:",
            "  g1:",
            *_APPLICATION,
            f"    properties: {_flow(_OF_CLASSIC)}",
            "    members:",
            *members,
            *(["timeline:"] if steps else []),
            *steps,
            "",
        )
    )


_LEAST = {"group.consumer.min.heartbeat.interval.ms": 100, "group.initial.rebalance.delay.ms": 500}


def _flow(values: dict[str, object]) -> str:
    return "{" + ", ".join(f"{name}: {value}" for name, value in values.items()) + "}"


def predicted(seed: int) -> Found:
    """What the scenario finds with a seed. It is played twice, since the schedule begins when the group has formed."""
    formed_us = _formed_us(seed)
    told = _told(formed_us / SECOND_US, seed)
    group = told.groups[0]
    stood = [one for one in group.standstills if one.began_us > formed_us]
    dynamic = {pod.name for pod in PODS if not pod.static}
    return Found(
        max(one.length_us for one in stood) / SECOND_US,
        max(one.length_us for one in stood if one.origin in dynamic) / SECOND_US,
        sum(one.length_us for one in stood) / SECOND_US,
        sum(one.records.never for one in told.totals if one.records),
        tuple(f"{one.name}: {one.reason}" for one in group.evictions),
    )


def _formed_us(seed: int) -> int:
    """When the last pod got its partitions, of a group that only forms."""
    return max(span.owned_us for span in _told(None, seed).groups[0].spans)


def _told(formed_s: float | None, seed: int) -> Story:
    return groupsim.tell(groupsim.run_scenario(groupsim.load_text(scenario(formed_s)), seed=seed).events)
