"""Map the words of other tools, above all Kubernetes, to the words of a scenario file.

A word of another tool gets the right one as remedy, instead of the list of all words.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from groupsim.scenarios.language.problems import suggest

#: A scenario's word → the words of other tools, in lower case and without dashes.
_OTHERS: Mapping[str, str] = {
    # steps
    "crash": "kill sigkill oom oomkill oomkilled die powercut",
    "stop": "evict eviction preempt preemption drain sigterm shutdown terminate leave close deletepod podkill spot",
    "start": "join add addmember addpod launch boot",
    "restart": "bounce crashloop crashloopbackoff",
    "rolling-restart": "rollout deploy deployment redeploy rollingupdate upgrade release rolling kubectlrolloutrestart",
    "autoscale": "hpa keda horizontalpodautoscaler lagthreshold minreplicacount maxreplicacount averageutilization",
    "scale": "hpa keda autoscaler scaleup scaledown scaleout scalein replicas resize",
    "pause": "gc gcpause fullgc stoptheworld freeze hang suspend sleep throttle sigstop",
    "isolate": "networkpartition partition netsplit split disconnect blackhole unreachable cutoff",
    "latency": "delay slownetwork lag",
    "slow-processing": "slow slowhandler slowconsumer",
    "block-poll": "block blockpolling",
    "block-heartbeats": "starve starveheartbeats blockheartbeat gil safepoint heartbeatthread",
    "stuck": "wedge wedged deadlock stuckworker wedgedworker hung",
    "crash-broker": "killbroker brokercrash brokerdown brokerfailure",
    "stop-broker": "shutdownbroker",
    "roll-brokers": "brokerroll rollbroker rollingrestartbrokers rollingupgrade brokerrollout",
    "cut-racks": "zoneoutage racksplit splitracks azoutage cutzones",
    "move-coordinator": "failover coordinatorfailover coordinatormove",
    # keys of steps
    "surge": "maxsurge",
    "max-unavailable": "unavailable",
    "grace": "terminationgraceperiodseconds terminationgraceperiod graceperiod gracetime killafter timeout",
    "ready-time": "minreadyseconds readinessprobe readiness initialdelayseconds readinessdelay",
    "stop-time": "prestop prestophook prestopsleep lifecycle shutdowntime",
    "start-time": "starttime podstart imagepull startuptime startupprobe",
    "kind": "strategy strategytype type",
    "member": "pod pods process instance who target consumer",
    "for": "duration length seconds",
    # keys of groups and members
    "count": "replicas instances",
    "members": "pods consumers replicas",
    "subscribe": "topics topic subscription subscriptions",
    "properties": "config configuration settings consumerconfig",
    "client": "library clientversion",
    "processing": "handler handlertime processingtime worktime",
    "instance-id": "groupinstanceid staticid static",
    "run-for": "duration runtime until time length",
    "timeline": "steps events actions scenario faults",
    "expect": "assert asserts expectations checks",
}
#: The word, a key that is valid where it was found, and the place in the file where it belongs.
_ELSEWHERE: tuple[tuple[str, str, str], ...] = (
    ("version", "brokers", '`broker: {version: "3.9"}`, beside `cluster`'),
    ("brokerversion", "topics", '`broker: {version: "3.9"}`'),
    ("kafkaversion", "topics", '`broker: {version: "3.9"}`'),
    ("version", "topics", '`broker: {version: "3.9"}`, or `client: java-3.9` of a group'),
    ("version", "subscribe", "`client: java-3.9`, of the group or the member"),
    ("broker", "downtime", "`stop-broker` and `restart-broker` for a broker; `restart` is for processes of members"),
)
_MEANT: dict[str, list[str]] = {}
for _word, _names in _OTHERS.items():
    for _name in _names.split():
        _MEANT.setdefault(_name, []).append(_word)


def suggest_word(word: str, known: Iterable[str], what: str = "known") -> str:
    """Return a remedy for an unknown word: the word here, or where it belongs, or the nearest, or all of them."""
    names = list(known)
    plain = word.casefold().replace("-", "").replace("_", "").replace(" ", "")
    meant = next((one for one in _MEANT.get(plain, ()) if one in names), None)
    if meant is not None:
        return f"did you mean `{meant}`?"
    belongs = next((place for other, here, place in _ELSEWHERE if other == plain and here in names), None)
    return f"write {belongs}" if belongs is not None else suggest(word, names, what)
