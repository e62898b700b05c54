"""Cross-checks of the consumer protocol (KIP-848): published claims, and what follows from its defaults.

Each function measures the runs of one experiment, and returns the figures and whether the expectation holds. Only what
begins with the timeline counts: members that start within 5 s share the partitions out until some 15 s later.
"""

from __future__ import annotations

from collections.abc import Iterable

from cross_check_analytic import EVENT, HOLDS, IN_SHAPE
from cross_check_runs import (
    BEAT,
    SECOND,
    Cells,
    Finding,
    Row,
    Seen,
    counts,
    distance,
    flat,
    may_be,
    mean,
    seconds,
    spread,
    uniform,
    within,
)

from groupsim.scenarios.story.model import Generation, Standstill

INTERVAL = 5 * SECOND  # group.consumer.heartbeat.interval.ms
SESSION = 45 * SECOND
JOIN = 72 * SECOND  # when `late` starts where another member is stuck before
CALLBACKS = {"nothing": 0, "200 ms": SECOND // 5, "500 ms": SECOND // 2, "2 s": 2 * SECOND}


def changes(run: Seen) -> list[Generation]:
    """The reassignments that the timeline brings about."""
    return [one for one in run.group.generations if one.began_us >= EVENT]


def stops(run: Seen) -> list[Standstill]:
    """The standstills that begin with the timeline or later."""
    return [one for one in run.group.standstills if one.began_us >= EVENT]


def lengths(runs: Iterable[Seen]) -> list[int]:
    """How long those of several runs were."""
    return [one.length_us for run in runs for one in stops(run)]


def taken_us(run: Seen, host: str) -> list[int]:
    """When a process got its partitions after the timeline had begun."""
    return [span.owned_us for span in run.group.spans if span.host == host and span.owned_us >= EVENT]


def first_start(cells: Cells) -> Finding:
    """One member has all with its first heartbeat; ten at once have theirs within two intervals."""
    formed = {name: [run.group.formed_us or 0 for run in runs] for name, runs in cells.items()}
    bumps = {name: [len(run.bumped_us) for run in runs] for name, runs in cells.items()}
    targets = {name: [run.targets for run in runs] for name, runs in cells.items()}
    together = [*formed["4.0, ten"], *formed["4.4, ten"]]
    holds = within([*formed["4.0, one"], *formed["4.4, one"]], 0, 0) and within(together, 0, 2 * INTERVAL)
    # a new group of 4.3 and later begins at epoch 1, so that its first member brings no event of its own
    each = set(bumps["4.0, ten"]) == {10} and set(bumps["4.4, ten"]) <= {9, 10}
    batched = set(targets["4.0, ten"]) == {10} and max(targets["4.4, ten"]) <= 2
    measured = (
        f"one member {spread(formed['4.4, one'])}, ten at once {spread(together)}; epochs raised: 4.0 "
        f"{counts(bumps['4.0, ten'])}, 4.4 {counts(bumps['4.4, ten'])}; targets: 4.0 {counts(targets['4.0, ten'])}, "
        f"4.4 {counts(targets['4.4, ten'])}; ten 3 s apart: {counts(targets['4.4, ten over 30 s'])} targets"
    )
    return Finding(holds and each and batched, measured)


def join(cells: Cells) -> Finding:
    """The new member has all after one interval or two; only what moves to it stands still, for up to an interval."""
    runs = cells["nothing"]
    complete = [max(taken_us(run, "late")) - EVENT for run in runs]
    moved = {len(stops(run)) for run in runs}
    own = all(one.target == "late" for run in runs for one in stops(run))
    holds = {len(changes(run)) for run in runs} == {1} and within(complete, INTERVAL, 2 * INTERVAL)
    measured = (
        f"1 reassignment; the new member has all after {spread(complete)}; only the {counts(moved)} moved partitions "
        f"stop, {spread(lengths(runs))}"
    )
    return Finding(holds and own and within(lengths(runs), 0, INTERVAL), measured)


def pauses_of_a_move(cells: Cells) -> Finding:
    """A partition that stays stands still for 0 ms, one that moves for its callback and up to one interval."""
    holds, figures = True, []
    for name, runs in cells.items():
        callback, found = CALLBACKS[name], lengths(runs)
        stayed = all(one.target == "late" and one.origin != "late" for run in runs for one in stops(run))
        few = {len(stops(run)) for run in runs}
        even = distance(found, uniform(callback, callback + INTERVAL)) < max(0.2, may_be(len(runs)))
        holds = holds and stayed and few == {9} and within(found, callback, callback + INTERVAL) and even
        figures.append(f"callback takes {name}: {spread(found)}")
    return Finding(holds, f"91 of 100 partitions: 0 ms; the 9 that move: {'; '.join(figures)}")


def leave(cells: Cells) -> Finding:
    """Only the leaver's partitions stop, until each survivor's next heartbeat."""
    runs = flat(cells.values())
    own = all(one.origin == "c-4" for run in runs for one in stops(run))
    found = lengths(runs)
    few = {len(stops(run)) for run in runs}
    holds = {len(changes(run)) for run in runs} == {1} and own and few == {10} and within(found, 0, INTERVAL)
    return Finding(holds, f"1 reassignment; only the leaver's {counts(few)} partitions stop, {spread(found)}")


def crash(cells: Cells) -> Finding:
    """Noticed 45 s after the last heartbeat, which was up to 5 s before the crash; then the survivors' next ones."""
    runs = flat(cells.values())
    noticed = [run.group.evictions[0].removed_us - EVENT for run in runs]
    found = lengths(runs)
    even = distance(noticed, uniform(SESSION - INTERVAL, SESSION)) < may_be(len(runs))
    own = all(one.origin == "c-4" for run in runs for one in stops(run))
    holds = within(noticed, SESSION - INTERVAL, SESSION) and within(found, SESSION - INTERVAL, SESSION + INTERVAL)
    measured = f"noticed after {spread(noticed)}, evenly spread; its partitions stop {spread(found)}, no other"
    return Finding(holds and even and own, measured)


def static_return(cells: Cells) -> Finding:
    """Closed, it has its partitions again with one round trip; killed, its successor fails until its session ends."""
    closed, killed = cells["closed"], cells["killed"]
    calm = not any(changes(run) for run in closed) and within(lengths(closed), 30 * SECOND, 30 * SECOND)
    same = all(one.origin == one.target == "c-4" for run in closed for one in stops(run))
    fails = [refused(run, "c-4") for run in killed]
    gone = [run.group.evictions[0].removed_us - EVENT for run in killed]
    dead = [one.length_us for run in killed for one in stops(run) if one.basis == "crashed"]
    holds = calm and same and min(fails) >= 1 and within(gone, SESSION - INTERVAL, SESSION)
    measured = (
        f"closed: 0 reassignments, own {spread(lengths(closed))}; killed: the successor fails {counts(fails)} times, "
        f"the member is removed after {spread(gone)}, its partitions stop {spread(dead)}"
    )
    return Finding(holds and within(dead, SESSION - INTERVAL, SESSION + INTERVAL), measured)


def refused(run: Seen, host: str) -> int:
    """How often a process ended with UnreleasedInstanceIdException."""
    return sum("UnreleasedInstanceId" in note.what for note in run.story.notes if note.host == host)


def stuck(cells: Cells) -> Finding:
    """Only what the stuck member has to give up waits for it; the others hand over at once, and none stops longer."""
    runs = flat(cells.values())
    other = [one.length_us for run in runs for one in stops(run) if one.origin != "c-4"]
    own = [one for run in runs for one in stops(run) if one.origin == "c-4"]
    handed = [one.ended_us - JOIN for one in own]
    first = [min(taken_us(run, "late")) - JOIN for run in runs]
    few = {sum(one.origin == "c-4" for one in stops(run)) for run in runs}
    calm = not any(run.group.evictions for run in runs)
    # it polls again 98 s after the join, at the end of the batch that it had begun; the owner-to-be asks every 5 s
    holds = calm and few == {1} and within(other, 0, INTERVAL) and within(handed, 97 * SECOND, 104 * SECOND)
    measured = (
        f"the new member has its first partitions after {spread(first)}, the stuck member's 1 partition after "
        f"{spread(handed)}; partitions of others stop {spread(other)}, that one {spread(one.length_us for one in own)}"
    )
    return Finding(holds and within(first, INTERVAL, 2 * INTERVAL), measured)


def growth(cells: Cells) -> Finding:
    """All are assigned within one interval, evenly spread over the last heartbeat of ten."""
    runs = cells["consumer"]
    begun = [changes(run)[0].began_us - EVENT for run in runs]
    served = [changes(run)[0].ended_us - EVENT for run in runs]
    calm = not any(lengths(runs)) and {len(changes(run)) for run in runs} == {1}
    measured = (
        f"1 reassignment; begins after {spread(begun)}, all assigned after {spread(served)}; none of the first hundred "
        "stops"
    )
    return Finding(calm and within([*begun, *served], 0, INTERVAL) and mean(begun) < SECOND, measured)


def twenty_times(cells: Cells) -> Finding:
    """5 s against U(0, 300 s) by default; with metadata refreshed every 5 s the classic protocol takes as long."""
    served = [changes(run)[0].ended_us - EVENT for run in cells["consumer"]]
    classic = [changes(run)[-1].ended_us - EVENT for run in cells["classic, metadata every 5 s"]]
    ratio = 103 * SECOND / mean(served)
    holds = within(served, 0, INTERVAL) and within(classic, 0, INTERVAL + BEAT) and 15 < ratio < 35
    measured = (
        f"consumer {spread(served)}, mean {seconds(mean(served))}: 103 s is {ratio:.0f} times as long; classic with "
        f"metadata.max.age.ms=5000 {spread(classic)}, mean {seconds(mean(classic))}"
    )
    return Finding(holds, measured)


def failover(cells: Cells) -> Finding:
    """No epoch is raised, and no member is removed."""
    runs = flat(cells.values())
    raised = [len(changes(run)) for run in runs]
    evicted = [len(run.group.evictions) for run in runs]
    return Finding(not any(raised + evicted), f"{counts(raised)} reassignments, {counts(evicted)} evictions")


def rolling(cells: Cells) -> Finding:
    """A leave and a join each; only what moves stands still, for up to an interval."""
    runs = cells["dynamic"]
    raised = [sum(at >= EVENT for at in run.bumped_us) for run in runs]
    moved = [sum(len(one.moves) for one in changes(run)) for run in runs]
    idle = [len(stops(run)) for run in runs]
    found = lengths(runs)
    holds = set(raised) == {20} and within(found, 0, INTERVAL) and all(i <= m for i, m in zip(idle, moved, strict=True))
    return Finding(holds, f"{counts(raised)} epochs; {counts(moved)} moves; only these stop, {spread(found)}")


def rolling_static(cells: Cells) -> Finding:
    """No epoch; own partitions wait for the restart, and are there again with one round trip."""
    runs = cells["static"]
    own = all(one.origin == one.target for run in runs for one in stops(run))
    found = lengths(runs)
    none = not any(changes(run) for run in runs)
    holds = none and own and within(found, 20 * SECOND, 20 * SECOND)
    return Finding(holds, f"{counts(len(changes(run)) for run in runs)} epochs; own: {spread(found)}")


def joiner(cells: Cells) -> Finding:
    """A small classic group lets a member in sooner; the consumer protocol needs one interval, or two by chance."""
    complete = {name: [max(taken_us(run, "late")) - EVENT for run in runs] for name, runs in cells.items()}
    twice = {
        name: sum(one > 1.5 * INTERVAL for one in complete[f"consumer, {name}"]) / len(complete[f"consumer, {name}"])
        for name in ("nothing", "500 ms")
    }
    expected = 1 - (1 - CALLBACKS["500 ms"] / INTERVAL) ** 2  # two owners
    size = len(complete["consumer, 500 ms"])
    near = abs(twice["500 ms"] - expected) < 3.3 * (expected * (1 - expected) / size) ** 0.5
    eager = within(complete["eager, nothing"], 0, BEAT) and within(complete["eager, 500 ms"], 0, BEAT + SECOND)
    slower = all(
        mean(complete[f"consumer, {name}"]) > mean(complete[f"eager, {name}"]) + SECOND
        for name in ("nothing", "500 ms")
    )
    figures = "; ".join(f"{name}: {spread(some)}" for name, some in complete.items())
    measured = (
        f"{figures}; two intervals in {twice['nothing']:.0%} (callback of nothing) and {twice['500 ms']:.0%} (500 ms, "
        f"{expected:.0%} expected) of the runs"
    )
    return Finding(eager and slower and near and twice["nothing"] < 0.05, measured)


def never_revokes(cells: Cells) -> Finding:
    """300 s as under the classic protocol, but only for what the member has to give up."""
    holds, figures = True, []
    for name, runs in cells.items():
        other = [one.length_us for run in runs for one in stops(run) if one.origin != "c-4"]
        waits = [max(taken_us(run, "late")) - JOIN for run in runs]
        late = [min(taken_us(run, "late")) - JOIN for run in runs]
        holds = holds and within(other, 0, INTERVAL) and within(late, 0, 2 * INTERVAL)
        holds = holds and within(waits, 290 * SECOND, 312 * SECOND)
        figures.append(
            f"{name}: the new member has its first partitions after {spread(late)} and its last after {spread(waits)}, "
            f"partitions of others stop {spread(other)}"
        )
    return Finding(holds, "; ".join(figures))


def broker_bounce(cells: Cells) -> Finding:
    """No reassignment, nothing lost."""
    runs = flat(cells.values())
    raised = [sum(one.began_us >= 50 * SECOND for one in run.group.generations) for run in runs]
    lost = [sum(account.lost for account in run.story.accounts) for run in runs]
    least = min(sum(account.delivered for account in run.story.accounts) for run in runs)
    holds = not any(raised + lost) and least > 10_000
    return Finding(holds, f"{counts(raised)} reassignments, {counts(lost)} records lost of {least} or more")


def same_instance(cells: Cells) -> Finding:
    """The process that comes second ends under the consumer protocol, the one that was there under the classic one."""
    ended = {
        name: {host for run in runs for host in ("c-2", "late") if failed(run, host)} for name, runs in cells.items()
    }
    every = all(any(failed(run, host) for host in ("c-2", "late")) for runs in cells.values() for run in runs)
    measured = "; ".join(f"{name}: {', '.join(sorted(hosts))} ends" for name, hosts in ended.items())
    size = len(cells["consumer"])
    return Finding(
        every and ended == {"consumer": {"late"}, "classic": {"c-2"}}, f"{measured}, in {size} of {size} runs"
    )


def failed(run: Seen, host: str) -> bool:
    """Whether a process ended with an exception."""
    return any("Exception" in note.what for note in run.story.notes if note.host == host)


ROWS = (
    Row(
        place="5.1 P1, Instaclustr 2025",
        claim="100 to 1,000 partitions, ten consumers: 5 s instead of 103 s, “20 times”",
        expected="one interval, 5 s; classic U(0, 300 s) + 0–3 s; the same for both with metadata every 5 s",
        verdict=IN_SHAPE,
        because=(
            "no barrier makes the difference, but who looks at the topics: the coordinator, or the leader once in "
            "metadata.max.age.ms. 103 s is one draw of a distribution whose mean is 150 s (5.5 more partitions); with "
            "metadata.max.age.ms at 5 s the classic group is even a little sooner"
        ),
        experiment="consumer-growth",
        judge=twenty_times,
    ),
    Row(
        place="5.1 P7, KIP-848",
        claim="A rebalance disturbs the partitions that move, and no other",
        expected="0 ms for those that stay; the callback and up to one interval of 5 s for those that move",
        verdict=HOLDS,
        because="a moved partition waits from its revocation to the next heartbeat of its new owner",
        experiment="consumer-join",
        judge=pauses_of_a_move,
    ),
    Row(
        place="5.1 P8, counter-claim",
        claim="A small healthy group lets a member in sooner under the classic protocol",
        expected="eager 0–3 s; consumer 5 s, 10 s where an owner confirms after the newcomer's second heartbeat",
        verdict=HOLDS,
        because=(
            "two owners and a callback of 500 ms: 1 − (1 − 0.5 s/5 s)² of the runs need a second interval. Cooperative "
            "has a second round of 3 s, and is hardly sooner"
        ),
        experiment="consumer-joiner",
        judge=joiner,
    ),
    Row(
        place="5.3 S5, under the consumer protocol",
        claim="One member does not revoke, or is stuck: 300 s for its partitions, 0 for others",
        expected="max.poll.interval.ms, for what it has to give up alone",
        verdict=HOLDS,
        because=(
            "in its callback the broker removes it 300 s after it was to revoke; stuck in processing it leaves by "
            "itself, and works on its partitions until then"
        ),
        experiment="consumer-never-revokes",
        judge=never_revokes,
    ),
    Row(
        place="5.3 S10, under the consumer protocol",
        claim="Rolling bounce and failure of brokers: no reassignment",
        expected="0 reassignments, all records consumed",
        verdict=HOLDS,
        experiment="consumer-broker-bounce",
        judge=broker_bounce,
    ),
    Row(
        place="5.3 S11, Kafka's system tests",
        claim="A second process with an instance id that is in use: the incumbent wins under the consumer protocol",
        expected="the newcomer ends (UNRELEASED_INSTANCE_ID); classic: the incumbent does (FENCED_INSTANCE_ID)",
        verdict=HOLDS,
        experiment="consumer-same-instance",
        judge=same_instance,
    ),
    Row(
        place="5.5 first start, consumer",
        claim="First start of N members at once, consumer protocol",
        expected="complete in at most 10 s; N epochs; from 4.3 on one or two targets",
        verdict=HOLDS,
        because="a new group of 4.3 and later begins at epoch 1; the first member to join has all for an interval",
        experiment="consumer-first-start",
        judge=first_start,
    ),
    Row(
        place="5.5 one join, consumer",
        claim="One join, consumer protocol",
        expected="the new member has all after 5–10 s; moved partitions stop for 0–5 s, others not at all",
        verdict=HOLDS,
        experiment="consumer-join",
        judge=join,
    ),
    Row(
        place="5.5 graceful leave, consumer",
        claim="A dynamic member leaves, consumer protocol",
        expected="the leaver's partitions idle for 0–5 s, others 0",
        verdict=HOLDS,
        experiment="consumer-leave",
        judge=leave,
    ),
    Row(
        place="5.5 crash, consumer",
        claim="A dynamic member crashes, consumer protocol",
        expected="40–45 s + 0–5 s",
        verdict=HOLDS,
        experiment="consumer-crash",
        judge=crash,
    ),
    Row(
        place="5.5 static crash, consumer",
        claim="A static member is away for 30 s, consumer protocol",
        expected="closed: 30 s for its partitions; killed: its successor is refused and ends until the session is over",
        verdict=HOLDS,
        because="a supervisor restarts the successor every 10 s here; without one the process stays down",
        experiment="consumer-static-return",
        judge=static_return,
    ),
    Row(
        place="5.5 stuck member, consumer",
        claim="One member is stuck in processing for T = 100 s during a join, consumer protocol",
        expected="only partitions taken from the stuck member wait for T",
        verdict=HOLDS,
        because="and its old owner works on it until then: it stands still for one interval at most",
        experiment="consumer-stuck",
        judge=stuck,
    ),
    Row(
        place="5.5 more partitions, consumer",
        claim="900 partitions more, consumer protocol",
        expected="at most 5 s",
        verdict=HOLDS,
        experiment="consumer-growth",
        judge=growth,
    ),
    Row(
        place="5.5 coordinator failover, consumer",
        claim="The coordinator is away for 10 s, moved or crashed, consumer protocol",
        expected="0 reassignments",
        verdict=HOLDS,
        experiment="consumer-failover",
        judge=failover,
    ),
    Row(
        place="5.5 rolling restart, consumer",
        claim="Rolling restart of 10 dynamic members, 20 s each, consumer protocol",
        expected="20 epochs; only what moves stops",
        verdict=HOLDS,
        experiment="consumer-rolling",
        judge=rolling,
    ),
    Row(
        place="5.5 rolling restart, static, consumer",
        claim="Rolling restart of 10 static members, 20 s each, consumer protocol",
        expected="0 epochs, own partitions 20 s and one round trip",
        verdict=HOLDS,
        experiment="consumer-rolling",
        judge=rolling_static,
    ),
)
