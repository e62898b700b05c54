"""A coordinator that is still reading its partition (reference 1.2, trap 1).

Each peer is given a log that takes it some seconds to read, and is started again. A heartbeat is always good then;
whatever else is asked waits for another time.
"""

from __future__ import annotations

from tests.conformance.script import Script, script

KIND = "alone"
LOADING = "COORDINATOR_LOAD_IN_PROGRESS"


@script(
    rows=[
        "1.2-loading-{JoinGroup,SyncGroup,Heartbeat,LeaveGroup,OffsetCommit,OffsetFetch,OffsetDelete,DescribeGroups,DeleteGroups,ListGroups}",
        "trap-01-answers-while-loading-differ",
    ],
    kind=KIND,
)
async def everything_is_asked_during_a_load(s: Script) -> None:
    a, b = await s.pair()
    t = await s.topic()
    await s.form(a)
    await a.commit(offsets={t: {0: 5}})
    await s.cluster.lengthen(s.partition)
    await s.restart_into_load()
    await s.follow(a, b)
    await a.describe(error=LOADING)
    await a.heartbeat()
    await a.heartbeat(member="nobody", generation=17)
    await b.join(error=LOADING)
    await b.join(v=3, error=LOADING)
    await a.join(error=LOADING)
    await a.sync(error=LOADING)
    await a.leave(error=LOADING)
    await a.leave(v=1, error=LOADING)
    await a.commit(offsets={t: {0: 6}}, error=LOADING)
    await a.fetch(topics={t: [0]}, error=LOADING)
    await a.fetch(topics={t: [0]}, stable=True, error=LOADING)
    await a.fetch(v=1, topics={t: [0]}, error=LOADING)
    await a.delete_offsets({t: [0]}, error=LOADING)
    await a.delete(error=LOADING)
    await a.ask("ListGroups", 5, {"states_filter": [], "types_filter": []}, error=LOADING)
    await a.find()
    await a.describe(v=5, error=LOADING)
    await s.settle_at_coordinator()
    await s.until("Stable", 1)
    await a.heartbeat()
    await a.fetch(topics={t: [0]})
