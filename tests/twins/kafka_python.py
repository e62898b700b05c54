"""kafka-python as a real client: two releases of the 2.x, each in a folder of its own in the user's cache.

2.0.2 of 2020 is what was installed most for years; 2.3 is the last line of the 2.x.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import kafka_jars
from attrs import evolve

from tests.twins.kafka_python_differs import OF_2_0, OF_2_3, OF_3_0
from tests.twins.releases import installed
from tests.twins.story import JOIN, Deed, Rule, Story

_PROGRAM = Path(__file__).parents[1] / "interop" / "python" / "twin_kafka_python.py"
_LAST_OF_2_0 = (3, 12)  # its copy of six cannot be imported by Python 3.12


def command(version: str) -> Callable[[], Sequence[str]]:
    """Starts the program of its applications with a release. Raises `kafka_jars.Unavailable`."""

    def started() -> Sequence[str]:
        if version.startswith("2.0.") and sys.version_info >= _LAST_OF_2_0:
            raise kafka_jars.Unavailable(f"kafka-python {version} cannot be imported by Python 3.12 and newer")
        folder = installed("kafka-python", version)
        # Its sets of topics are in an order of their own; in the same one each time, with this seed.
        return ["env", f"PYTHONPATH={folder}", "PYTHONHASHSEED=0", sys.executable, str(_PROGRAM)]

    return started


_LATER_MS = 200  # it waits for retry.backoff.ms before it joins, but for a pattern, so everything comes later
_UNKNOWN = ("default.api.timeout.ms", "retry.backoff.max.ms")


def settings(properties: Mapping[str, object]) -> Mapping[str, object]:
    """Kafka's settings in its words."""
    return {name.replace(".", "_"): value for name, value in properties.items() if name not in _UNKNOWN}


def fitted_2_3(story: Story) -> Story | None:
    """A story as 2.3 plays it, None where it does not have the means.

    There is no cooperative assignor, `close` cannot be told to leave or to stay, a rebalance cannot be enforced, and
    request.timeout.ms has to be more than the session timeout.
    """
    assignors = str(story.properties["partition.assignment.strategy"])
    deeds = [rule for rule in story.rules if isinstance(rule, Deed)]
    offered = (
        "cooperative" not in assignors
        and "request.timeout.ms" not in story.settings
        and all(deed.what != "enforce" and "leave" not in deed.given for deed in deeds)
    )
    ends_ms = story.ends_ms + (0 if story.pattern else _LATER_MS)
    return evolve(story, ends_ms=ends_ms, differs=OF_2_3.get(story.name, "")) if offered else None


def fitted_2_0(story: Story) -> Story | None:
    """A story as 2.0.2 plays it: it knows no static members, and gets its member id with the answer to its first
    JoinGroup, so that what others meet at their second it has to meet at that one. Its sticky assignor raises a
    TypeError in the second round.
    """
    fitted = fitted_2_3(story)
    if fitted is None or "group.instance.id" in story.settings or "sticky" in str(story.settings):
        return None
    rules = tuple(map(_without_handshake, fitted.rules))
    return evolve(fitted, rules=rules, differs=OF_2_0.get(story.name, ""))


def _without_handshake(rule: Rule) -> Rule:
    return evolve(rule, at=rule.at - 1) if rule.api is JOIN and rule.at > 1 else rule


def fitted_3(story: Story) -> Story | None:
    """A story as 3.0 plays it, None where it does not have the means: `close` cannot be told to leave or to stay, a
    rebalance cannot be enforced.
    """
    deeds = [rule for rule in story.rules if isinstance(rule, Deed)]
    offered = all(deed.what != "enforce" and "leave" not in deed.given for deed in deeds)
    return evolve(story, differs=OF_3_0.get(story.name, "")) if offered else None
