"""groupsim: a laboratory for Apache Kafka consumer groups.

The coordinator, the cluster under it and the consumers live in one process, in virtual time; the same seed gives the
same trace. What a test author or script needs is here:

    import groupsim

    async def story(sim):
        sim.topic("orders", 4)
        member = sim.member("c1")
        await sim.stable("g1", members=1)

    groupsim.Simulation(seed=1).run(story)

    run = groupsim.run_scenario(groupsim.load_file("scenario.yaml"), seed=1)
    print(groupsim.tell(run.events).headline)

Names are imported when they are first used, so that `import groupsim.protocol` costs nothing more than that.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from groupsim.cluster.cluster import Cluster
    from groupsim.cluster.config.cluster import ClusterConfig
    from groupsim.eventloop.errors import DeadlockError, EventLoopError, StandstillError
    from groupsim.eventloop.trace.events import Kind, TraceEvent
    from groupsim.eventloop.trace.sinks import read_trace, write_trace
    from groupsim.members.behaviour import Behaviour
    from groupsim.members.consumer.consumer import Consumer
    from groupsim.members.failures import ClientFailure, PluginError
    from groupsim.members.settings import ConsumerSettings, SettingError
    from groupsim.protocol.errors import ErrorCode
    from groupsim.protocol.messages.group import TopicPartition
    from groupsim.scenarios.language.model import Scenario
    from groupsim.scenarios.language.problems import ScenarioError
    from groupsim.scenarios.loading.load import load_file, load_text
    from groupsim.scenarios.runtime.runner import Run, run_scenario
    from groupsim.scenarios.story import Cause, Story, tell
    from groupsim.testing.raw_bytes import assignment_bytes, subscription_bytes
    from groupsim.testing.simulation import Simulation
    from groupsim.testing.unused_faults import FaultStruckNothing

_HOMES = {
    "Behaviour": "groupsim.members.behaviour",
    "Cause": "groupsim.scenarios.story",
    "ClientFailure": "groupsim.members.failures",
    "Cluster": "groupsim.cluster.cluster",
    "ClusterConfig": "groupsim.cluster.config.cluster",
    "Consumer": "groupsim.members.consumer.consumer",
    "ConsumerSettings": "groupsim.members.settings",
    "DeadlockError": "groupsim.eventloop.errors",
    "ErrorCode": "groupsim.protocol.errors",
    "EventLoopError": "groupsim.eventloop.errors",
    "FaultStruckNothing": "groupsim.testing.unused_faults",
    "Kind": "groupsim.eventloop.trace.events",
    "PluginError": "groupsim.members.failures",
    "Run": "groupsim.scenarios.runtime.runner",
    "Scenario": "groupsim.scenarios.language.model",
    "ScenarioError": "groupsim.scenarios.language.problems",
    "SettingError": "groupsim.members.settings",
    "Simulation": "groupsim.testing.simulation",
    "StandstillError": "groupsim.eventloop.errors",
    "Story": "groupsim.scenarios.story",
    "TopicPartition": "groupsim.protocol.messages.group",
    "TraceEvent": "groupsim.eventloop.trace.events",
    "assignment_bytes": "groupsim.testing.raw_bytes",
    "load_file": "groupsim.scenarios.loading.load",
    "load_text": "groupsim.scenarios.loading.load",
    "read_trace": "groupsim.eventloop.trace.sinks",
    "run_scenario": "groupsim.scenarios.runtime.runner",
    "subscription_bytes": "groupsim.testing.raw_bytes",
    "tell": "groupsim.scenarios.story",
    "write_trace": "groupsim.eventloop.trace.sinks",
}

__all__ = [
    "Behaviour",
    "Cause",
    "ClientFailure",
    "Cluster",
    "ClusterConfig",
    "Consumer",
    "ConsumerSettings",
    "DeadlockError",
    "ErrorCode",
    "EventLoopError",
    "FaultStruckNothing",
    "Kind",
    "PluginError",
    "Run",
    "Scenario",
    "ScenarioError",
    "SettingError",
    "Simulation",
    "StandstillError",
    "Story",
    "TopicPartition",
    "TraceEvent",
    "assignment_bytes",
    "load_file",
    "load_text",
    "read_trace",
    "run_scenario",
    "subscription_bytes",
    "tell",
    "write_trace",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'groupsim' has no attribute {name!r}")
    return getattr(importlib.import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)
