"""Faults of the network, for `Simulation.inject`.

Each fault has a `Match` that selects hosts or messages. Faults of links: `Latency`, `Limit`, `Stall`, `Isolate`,
`Refuse`, `Break`. Faults of messages: `LoseResponse`, `DelayResponse`, `HoldResponse`, `AnswerError`. Methods of
`Simulation.cluster` (`crash_broker` …) fail brokers; methods of `Consumer` (`crash`, `pause` …) fail members.
"""

from groupsim.cluster.network.faults import After as After
from groupsim.cluster.network.faults import AnswerError as AnswerError
from groupsim.cluster.network.faults import Break as Break
from groupsim.cluster.network.faults import DelayResponse as DelayResponse
from groupsim.cluster.network.faults import Direction as Direction
from groupsim.cluster.network.faults import Fault as Fault
from groupsim.cluster.network.faults import HoldResponse as HoldResponse
from groupsim.cluster.network.faults import Isolate as Isolate
from groupsim.cluster.network.faults import Latency as Latency
from groupsim.cluster.network.faults import Limit as Limit
from groupsim.cluster.network.faults import LoseResponse as LoseResponse
from groupsim.cluster.network.faults import Match as Match
from groupsim.cluster.network.faults import Refuse as Refuse
from groupsim.cluster.network.faults import Stall as Stall
from groupsim.cluster.network.injection import FaultHandle as FaultHandle
