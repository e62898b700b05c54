"""Small stories whose cause is known, because a step of the scenario made it: step → cause, culprit, words.

Three consumers (`c-1` … `c-3`) share six partitions; `late` is started by a step where a story needs a newcomer. Each
story is played by several client libraries against brokers of two ages. A row says what the first rebalance has to be
put down to, whose doing it was, and what the headline has to say, or must not say. A row without a cause is a story
without a rebalance.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from groupsim.cluster.config.acl import STANDARD
from groupsim.scenarios.loading.python_api import Draft
from groupsim.scenarios.story import Cause

JAVA, LIBRDKAFKA, FRANZ, PYTHON = "java", "librdkafka", "franz-go", "kafka-python"
PLAYED = {
    JAVA: ("java-4.0", "4.4"),
    LIBRDKAFKA: ("librdkafka-2.3", "3.9"),
    FRANZ: ("franz-go", "2.8"),
    PYTHON: ("kafka-python-2.0", "2.4"),
}
"""Library → the release that plays, and the broker's."""
OLDEST_WITH_LOGS = "3.9"
THREE = (JAVA, LIBRDKAFKA, FRANZ)

Step = Mapping[str, Any]


@frozen
class Row:
    """One story: what is done, and what has to be told of it."""

    name: str
    steps: tuple[Step, ...]
    cause: Cause | None = None
    culprit: str = ""
    says: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    group: Mapping[str, Any] = {}
    extra: Mapping[str, Any] = {}  # other keys of the file
    of: tuple[str, ...] = THREE
    last: tuple[Cause, str] | None = None  # cause of the last rebalance, and words of it
    forms: bool = False  # the cause is one of a round before the group had formed

    def played_by(self, library: str) -> Draft:
        """The scenario, with this library."""
        client, broker = PLAYED[library]
        logs = self.extra.get("cluster", {}).get("logs", "counted")
        if logs != "counted" and broker < OLDEST_WITH_LOGS:
            broker = OLDEST_WITH_LOGS
        properties = {"session.timeout.ms": 10_000, "heartbeat.interval.ms": 3_000, **self.group.get("properties", {})}
        replicas = {"replication": 3} if logs != "counted" and self.extra["cluster"].get("brokers") != 1 else {}
        group = {"client": client, "members": {"c": {"count": 3}}, **self.group, "properties": properties}
        topics = {"orders": {"partitions": 6, "rate": "12/s", **replicas}, "other": {"partitions": 2, "rate": "1/s"}}
        return Draft(
            {
                "name": "a story",
                "run-for": "70s",
                "topics": topics,
                "timeline": list(self.steps),
                **self.extra,
                "cluster": {"logs": "counted", **self.extra.get("cluster", {})},
                "broker": {"version": broker, **self.extra.get("broker", {})},
                "groups": {"g1": group if "subscribe-pattern" in group else {"subscribe": ["orders"], **group}},
            }
        )


def do(at: str, what: str, **said: Any) -> Step:
    """A step; `for_` and the like stand for keys that are words of Python."""
    return {"at": at, "do": what, **{name.rstrip("_").replace("_", "-"): value for name, value in said.items()}}


C2 = "c-2"
START = do("20s", "start", member="late")
LATE = {"members": {"c": {"count": 2}, "late": {"start": "never"}}}
STATIC = {"instance-id": "{name}"}
LOGS = {"cluster": {"logs": "replicated"}}
RACKS = {"cluster": {"logs": "replicated", "racks": ["a", "b", "c"]}}
ALONE = {"cluster": {"logs": "replicated", "brokers": 1}}
FRESH = {"properties": {"metadata.max.age.ms": 5_000}}
GUARDED = {
    "cluster": {
        "logs": "replicated",
        "acls": [{"allow": "All", "topic": "*"}, {"allow": "All", "group": "*"}],
    },
    "broker": {"authorizer.class.name": STANDARD},
}
