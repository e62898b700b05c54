"""groupsim: a laboratory for Apache Kafka consumer groups.

The coordinator, the cluster under it and the consumers run in one process, in virtual time; the same seed gives the
same trace. This package exports the names that tests and scripts use:

    import groupsim

    async def scene(sim):
        sim.topic("orders", 4)
        member = sim.member("c1")
        await sim.stable("g1", members=1)

    groupsim.Simulation(seed=1).run(scene)

    run = groupsim.run_scenario(groupsim.load_file("scenario.yaml"), seed=1)
    print(groupsim.tell(run.events).headline)

`groupsim.faults`, `groupsim.requests`, `groupsim.assignors` and `groupsim.testing` export the other public names
(docs/api.md lists all); every other module may change. Names are imported at their first use, so that
`import groupsim.protocol` imports that room only.
"""

from typing import TYPE_CHECKING

from groupsim.testing.lazy import lazy

if TYPE_CHECKING:
    from groupsim.cluster.cluster import Cluster as Cluster
    from groupsim.cluster.config.cluster import ClusterConfig as ClusterConfig
    from groupsim.coordinator.base.snapshot import GroupSnapshot as GroupSnapshot
    from groupsim.coordinator.base.snapshot import MemberSnapshot as MemberSnapshot
    from groupsim.eventloop.errors import DeadlockError as DeadlockError
    from groupsim.eventloop.errors import EventLoopError as EventLoopError
    from groupsim.eventloop.errors import StandstillError as StandstillError
    from groupsim.eventloop.trace.events import Kind as Kind
    from groupsim.eventloop.trace.events import TraceEvent as TraceEvent
    from groupsim.eventloop.trace.sinks import read_trace as read_trace
    from groupsim.eventloop.trace.sinks import write_trace as write_trace
    from groupsim.eventloop.trace.trace import Level as Level
    from groupsim.members.behaviour import Behaviour as Behaviour
    from groupsim.members.behaviour import CommitPolicy as CommitPolicy
    from groupsim.members.behaviour import Stuck as Stuck
    from groupsim.members.consumer.consumer import Consumer as Consumer
    from groupsim.members.failures import ClientFailure as ClientFailure
    from groupsim.members.failures import PluginError as PluginError
    from groupsim.members.profiles import PROFILES as PROFILES
    from groupsim.members.profiles.pace import AsyncTask as AsyncTask
    from groupsim.members.profiles.pace import MainThread as MainThread
    from groupsim.members.profiles.pace import Pace as Pace
    from groupsim.members.profiles.pace import PollOnly as PollOnly
    from groupsim.members.profiles.profile import ClientProfile as ClientProfile
    from groupsim.members.profiles.profile import OnError as OnError
    from groupsim.members.profiles.profile import RebalanceTimeout as RebalanceTimeout
    from groupsim.members.profiles.reactions import Reaction as Reaction
    from groupsim.members.profiles.row_types import SessionCheck as SessionCheck
    from groupsim.members.settings import ConsumerSettings as ConsumerSettings
    from groupsim.members.settings import SettingError as SettingError
    from groupsim.pipeline.analysis import Answer as Answer
    from groupsim.pipeline.analysis import analyse as analyse
    from groupsim.pipeline.experiment import Experiment as Experiment
    from groupsim.pipeline.experiment import load_experiment as load_experiment
    from groupsim.pipeline.frames import frame as frame
    from groupsim.pipeline.sql import ask as _ask
    from groupsim.pipeline.sweep import Directory as Directory
    from groupsim.pipeline.sweep import EngineOptions as EngineOptions
    from groupsim.pipeline.sweep import Outcome as Outcome
    from groupsim.pipeline.sweep import SweepError as SweepError
    from groupsim.pipeline.sweep import register as _register
    from groupsim.pipeline.sweep import session as _session
    from groupsim.pipeline.sweep import sweep as sweep
    from groupsim.protocol.basics import TopicPartition as TopicPartition
    from groupsim.protocol.errors import ErrorCode as ErrorCode
    from groupsim.scenarios.language.model import Scenario as Scenario
    from groupsim.scenarios.language.problems import ScenarioError as ScenarioError
    from groupsim.scenarios.loading.load import load_file as load_file
    from groupsim.scenarios.loading.load import load_text as load_text
    from groupsim.scenarios.loading.python_api import Draft as Draft
    from groupsim.scenarios.loading.python_api import scenario as scenario
    from groupsim.scenarios.pictures.run_picture import run_picture as run_picture
    from groupsim.scenarios.runtime.runner import Interrupted as Interrupted
    from groupsim.scenarios.runtime.runner import Run as Run
    from groupsim.scenarios.runtime.runner import run_scenario as run_scenario
    from groupsim.scenarios.story import Cause as Cause
    from groupsim.scenarios.story import Story as Story
    from groupsim.scenarios.story import tell as tell
    from groupsim.testing.raw_requests import Sent as Sent
    from groupsim.testing.simulation import Simulation as Simulation
    from groupsim.testing.unused_faults import FaultStruckNothing as FaultStruckNothing

    query, register_data_source, spark_session = _ask, _register, _session
else:
    __all__, __getattr__, __dir__ = lazy(
        __name__,
        {
            "groupsim.testing.raw_requests": "Sent",
            "groupsim.cluster.cluster": "Cluster",
            "groupsim.cluster.config.cluster": "ClusterConfig",
            "groupsim.coordinator.base.snapshot": "GroupSnapshot MemberSnapshot",
            "groupsim.eventloop.errors": "DeadlockError EventLoopError StandstillError",
            "groupsim.eventloop.trace.events": "Kind TraceEvent",
            "groupsim.eventloop.trace.sinks": "read_trace write_trace",
            "groupsim.eventloop.trace.trace": "Level",
            "groupsim.members.behaviour": "Behaviour CommitPolicy Stuck",
            "groupsim.members.consumer.consumer": "Consumer",
            "groupsim.members.failures": "ClientFailure PluginError",
            "groupsim.members.profiles": "PROFILES",
            "groupsim.members.profiles.pace": "AsyncTask MainThread Pace PollOnly",
            "groupsim.members.profiles.profile": "ClientProfile OnError RebalanceTimeout",
            "groupsim.members.profiles.row_types": "SessionCheck",
            "groupsim.members.profiles.reactions": "Reaction",
            "groupsim.members.settings": "ConsumerSettings SettingError",
            "groupsim.pipeline.analysis": "Answer analyse",
            "groupsim.pipeline.experiment": "Experiment load_experiment",
            "groupsim.pipeline.frames": "frame",
            "groupsim.pipeline.sql": "query=ask",
            "groupsim.pipeline.sweep": "Directory EngineOptions Outcome SweepError register_data_source=register "
            "spark_session=session sweep",
            "groupsim.protocol.basics": "TopicPartition",
            "groupsim.protocol.errors": "ErrorCode",
            "groupsim.scenarios.language.model": "Scenario",
            "groupsim.scenarios.language.problems": "ScenarioError",
            "groupsim.scenarios.loading.python_api": "Draft scenario",
            "groupsim.scenarios.loading.load": "load_file load_text",
            "groupsim.scenarios.pictures.run_picture": "run_picture",
            "groupsim.scenarios.runtime.runner": "Interrupted Run run_scenario",
            "groupsim.scenarios.story": "Cause Story tell",
            "groupsim.testing.simulation": "Simulation",
            "groupsim.testing.unused_faults": "FaultStruckNothing",
        },
    )
