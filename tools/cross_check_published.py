"""Cross-checks of published claims: KIPs, talks, threads, measurements.

Each function measures the runs of one experiment, and returns the figures and whether the expectation holds.
"""

from __future__ import annotations

from cross_check_analytic import DIFFERS, EVENT, HOLDS, IN_SHAPE, follow_up
from cross_check_runs import BEAT, SECOND, Cells, Finding, Row, Seen, counts, flat, mean, seconds, spread, within

from groupsim.scenarios.story.model import EvictionCause

MINUTE = 60 * SECOND


def stop_of_a_partition(run: Seen, partitions: int = 100) -> float:
    """How long a partition stood still in all, on average."""
    return sum(one.length_us for one in run.group.standstills) / partitions


def pause_ratio(cells: Cells) -> Finding:
    """Cooperative stops a tenth for each move; eager stops all, for as long as the slowest callback takes."""
    stops = {name: mean(stop_of_a_partition(run) for run in runs) for name, runs in cells.items()}
    ratios = {
        closing: stops[f"eager, {closing}"] / stops[f"cooperative, {closing}"] for closing in ("nothing", "1 s", "2 s")
    }
    figures = "; ".join(
        f"closing takes {closing}: {seconds(stops[f'eager, {closing}'])} eager, "
        f"{seconds(stops[f'cooperative, {closing}'])} cooperative, ratio {ratio:.1f}"
        for closing, ratio in ratios.items()
    )
    return Finding(
        ratios["nothing"] < 1 < 4 < ratios["1 s"] < ratios["2 s"] < 15, f"stop of a partition in all: {figures}"
    )


def continual_starts(cells: Cells) -> Finding:
    """The share of partition time that stands still while members go on starting, and what is gained by less of it."""
    window = 200 * SECOND
    share = {name: mean(stop_of_a_partition(run) / window for run in runs) for name, runs in cells.items()}
    every = [name.removeprefix("eager, ") for name in cells if name.startswith("eager")]
    gain = {each: (1 - share[f"cooperative, {each}"]) / (1 - share[f"eager, {each}"]) - 1 for each in every}
    figures = "; ".join(
        f"one {each}: stopped for {share[f'eager, {each}']:.0%} of the time eager, {share[f'cooperative, {each}']:.1%} "
        f"cooperative, {gain[each]:+.0%} work"
        for each in every
    )
    less = all(share[f"eager, {each}"] > 3 * share[f"cooperative, {each}"] for each in every)
    return Finding(less and 0 < gain["every 10 s"] < gain["every 4 s"], figures)


def loop(cells: Cells) -> Finding:
    """A rebalance each heartbeat interval, without end."""
    runs = flat(cells.values())
    rebalances = [len([one for one in run.rebalances if one.began_us < EVENT + 600 * SECOND]) for run in runs]
    lengths = [one.duration_us for run in runs for one in run.rebalances[1:-1]]
    return Finding(
        all(200 <= number <= 201 for number in rebalances) and within(lengths, BEAT, BEAT),
        f"{counts(rebalances)} rebalances in 10 minutes, {spread(lengths)} each",
    )


def session_storm(cells: Cells) -> Finding:
    """Settled at once as long as the assignment is done within the session; never where it is not."""
    late = {
        name: [len([g for g in run.group.generations if g.began_us > 300 * SECOND]) for run in runs]
        for name, runs in cells.items()
    }
    formed = [run.group.formed_us for name in ("100ms", "5s") for run in cells[name]]
    never = all(run.group.formed_us is None for run in cells["20s"])
    calm = not any(late["100ms"] + late["5s"])
    measured = (
        f"assignment in 100 ms or 5 s: formed after {spread(one or 0 for one in formed)}, no rebalance; in 20 s: never "
        f"Stable, {counts(late['20s'])} generations in the second five minutes"
    )
    return Finding(never and calm and None not in formed and min(late["20s"]) >= 15, measured)


def sizes(cells: Cells) -> Finding:
    """A rebalance takes up to a heartbeat interval, whatever the size."""
    lengths = {name: [run.rebalances[0].duration_us for run in runs] for name, runs in cells.items()}
    holds = all(within(some, 0, BEAT) for some in lengths.values())
    return Finding(holds, "; ".join(f"{name} members: {spread(some)}" for name, some in lengths.items()))


def bounces(cells: Cells) -> Finding:
    """Two rebalances for each dynamic member, none for static ones."""
    numbers = {name: [len(run.rebalances) for run in runs] for name, runs in cells.items()}
    dynamic = {size: numbers[f"{size}, dynamic"] for size in (5, 10, 20)}
    static = [number for name, some in numbers.items() if name.endswith("static") for number in some]
    holds = all(size <= number <= 2 * size for size, some in dynamic.items() for number in some) and not any(static)
    figures = ", ".join(f"{counts(some)} for {size}" for size, some in dynamic.items())
    return Finding(holds, f"dynamic: {figures}; static: {counts(static)}")


def quick_restarts(cells: Cells) -> Finding:
    """Between N and 2N: a join that comes while the leave's barrier still waits is part of the same rebalance."""
    numbers = {name: [len(run.rebalances) for run in runs] for name, runs in cells.items()}
    average = {name: mean(some) for name, some in numbers.items()}
    holds = all(10 <= number <= 20 for some in numbers.values() for number in some)
    merged = average["500ms"] < average["2s"] < average["5s"] == average["20s"] == 20
    return Finding(holds and merged, "; ".join(f"back in {name}: {counts(some)}" for name, some in numbers.items()))


def fleet_dynamic(cells: Cells) -> Finding:
    """Eighty rebalances, together about two minutes; partitions stand still for much less."""
    runs = cells["dynamic"]
    rebalances = [len(run.rebalances) for run in runs]
    total = [sum(one.duration_us for one in run.rebalances) for run in runs]
    stop = [stop_of_a_partition(run, 200) for run in runs]
    holds = all(40 <= number <= 80 for number in rebalances) and all(80 * SECOND < one < 160 * SECOND for one in total)
    measured = (
        f"{counts(rebalances)} rebalances, together {spread(total)}; a partition stands still for {spread(stop)} in all"
    )
    return Finding(holds and max(stop) < min(total) / 10, measured)


def fleet_static(cells: Cells) -> Finding:
    """Only restarts longer than the session make a rebalance."""
    numbers = {name: [len(run.rebalances) for run in runs] for name, runs in cells.items() if name != "dynamic"}
    exact = all(len(run.rebalances) <= 2 * len(overdue(run)) for name in numbers for run in cells[name])
    known = all(bool(run.rebalances) == bool(overdue(run)) for name in numbers for run in cells[name])
    average = [mean(some) for some in numbers.values()]
    falling = average[0] <= average[1] < average[2] and average[0] < 2
    figures = "; ".join(
        f"{name.removeprefix('static, ')}: {counts(some)}, mean {mean(some):.1f}" for name, some in numbers.items()
    )
    return Finding(exact and known and falling, f"rebalances: {figures}")


def overdue(run: Seen) -> list[int]:
    """When members were removed because their session had ended."""
    return [one.removed_us for one in run.group.evictions if one.reason == "session-expired"]


def close_without_leave(cells: Cells) -> Finding:
    """The session's 45 s and a heartbeat interval, or the heartbeat interval alone."""
    stops = {
        name: [one.length_us for run in runs for one in run.group.standstills if one.origin == "c-2"]
        for name, runs in cells.items()
    }
    silent = within(stops["no LeaveGroup, 3000"], 45 * SECOND, 48 * SECOND)
    leave = within(stops["LeaveGroup, 3000"], 0, BEAT) and within(stops["LeaveGroup, 200"], 0, SECOND / 5)
    usual = mean(stops["no LeaveGroup, 3000"]) / mean(stops["LeaveGroup, 3000"])
    quick = mean(stops["no LeaveGroup, 200"]) / mean(stops["LeaveGroup, 200"])
    measured = (
        f"no LeaveGroup: {spread(stops['no LeaveGroup, 3000'])}; LeaveGroup: {spread(stops['LeaveGroup, 3000'])}, ×"
        f"{usual:.0f}; with a heartbeat every 200 ms: {spread(stops['LeaveGroup, 200'])}, ×{quick:.0f}"
    )
    return Finding(silent and leave and 10 < usual < 100 < quick, measured)


def never_rejoins_eager(cells: Cells) -> Finding:
    """The barrier stays open for the rebalance timeout; every member stops."""
    mute = [run.rebalances[0].duration_us for run in cells["eager, never rejoins"]]
    busy = [run.rebalances[0].duration_us for run in cells["eager, stuck in processing"]]
    stops = [
        one.length_us
        for run in cells["eager, stuck in processing"]
        for one in run.group.standstills
        if one.origin != "c-4"
    ]
    holds = within(mute, 300 * SECOND, 300 * SECOND) and within(busy, 295 * SECOND, 300 * SECOND)
    measured = (
        f"rebalance {exactly(mute)} when it never rejoins, {exactly(busy)} when its poll limit ends it; partitions "
        f"stop {spread(stops)}"
    )
    return Finding(holds and within(stops, 295 * SECOND, 300 * SECOND), measured)


def never_rejoins_cooperative(cells: Cells) -> Finding:
    """The rebalance takes as long, but the others work on."""
    runs = [*cells["cooperative, never rejoins"], *cells["cooperative, stuck in processing"]]
    lengths = [run.rebalances[0].duration_us for run in runs]
    others = [one.length_us for run in runs for one in run.group.standstills if one.origin not in ("mute", "c-4")]
    holds = within(lengths, 295 * SECOND, 300 * SECOND) and within(others or [0], 0, BEAT)
    return Finding(holds, f"rebalance {spread(lengths)}; partitions of others stop {spread(others or [0])}")


def exactly(values: list[int]) -> str:
    """Times to the millisecond."""
    return " to ".join(f"{value / SECOND:.3f} s" for value in sorted({min(values), max(values)}))


def recreate(cells: Cells) -> Finding:
    """From the restart to the last stable generation: about a session, not ten minutes."""
    settled = {name: [run.rebalances[-1].ended_us - EVENT for run in runs] for name, runs in cells.items()}
    full = all(run.group.generations[-1].size == 30 for runs in cells.values() for run in runs)
    stopped = max(settled["eager, stopped"] + settled["cooperative, stopped"])
    killed = max(settled["eager, killed"] + settled["cooperative, killed"])
    measured = "; ".join(f"{name}: {spread(some)}" for name, some in settled.items())
    return Finding(full and stopped < 5 * MINUTE and killed < 5 * MINUTE, measured)


def killed_and_back(cells: Cells) -> Finding:
    """The join of the new process waits until the session of the old one ends."""
    runs = flat(cells.values())
    lengths = [run.rebalances[0].duration_us for run in runs]
    stops = [one.length_us for run in runs for one in run.group.standstills if one.origin != "c-4"]
    holds = within(lengths, 26 * SECOND, 29 * SECOND)
    return Finding(holds and max(stops) > 25 * SECOND, f"rebalance {spread(lengths)}; others stop {spread(stops)}")


def heavy_polls(cells: Cells) -> Finding:
    """A rebalance takes as long as the slowest poll."""
    lengths = sorted(one.duration_us for run in flat(cells.values()) for one in run.rebalances)
    tenth = lengths[len(lengths) * 9 // 10]
    measured = f"rebalances {spread(lengths)}, one in ten above {seconds(tenth)}"
    return Finding(lengths[len(lengths) // 2] < MINUTE < lengths[-1], measured)


def stalls(cells: Cells) -> Finding:
    """Long pauses expire a session; a member survives shorter ones with 45 s."""
    rows = []
    average = {}
    for name, runs in cells.items():
        session = int(name) * 1000
        pauses = flat(run.pauses for run in runs)
        evicted = sum(
            one.cause is EvictionCause.PAUSE and one.reason == "session-expired"
            for run in runs
            for one in run.group.evictions
        )
        sure, possible = sum(one > session for one in pauses), sum(one > session - BEAT for one in pauses)
        average[name] = evicted / len(pauses)
        rows.append(
            (
                evicted,
                sure,
                possible,
                f"{session // SECOND} s: {evicted} of {len(pauses)} pauses expire it ({sure} are longer)",
            )
        )
    holds = all(evicted <= possible and evicted >= 0.7 * sure for evicted, sure, possible, _ in rows)
    ratio = average["10000"] / average["45000"] if average["45000"] else float("inf")
    return Finding(holds and ratio > 5, "; ".join(text for *_, text in rows) + f"; ratio {ratio:.0f}")


def initial_delay(cells: Cells) -> Finding:
    """With the delay one generation as long as starts are less than 3 s apart."""
    numbers = {name: [len(run.group.generations) for run in runs] for name, runs in cells.items()}
    close = [number for name in ("at once", "1 s", "2 s") for number in numbers[f"{name}, 3000"]]
    far = numbers["6 s, 3000"] == numbers["6 s, 0"] and set(numbers["6 s, 0"]) == {10}
    merged = all(1 <= number < 10 for name in ("at once", "1 s", "2 s") for number in numbers[f"{name}, 0"])
    figures = "; ".join(
        f"{name}: {counts(numbers[f'{name}, 0'])} → {counts(numbers[f'{name}, 3000'])}"
        for name in ("at once", "1 s", "2 s", "6 s")
    )
    return Finding(set(close) == {1} and far and merged, f"generations without → with the delay, starts {figures}")


def broker_bounce(cells: Cells) -> Finding:
    """No rebalance, nothing lost."""
    runs = flat(cells.values())
    rebalances = [len(run.rebalances) for run in runs]
    lost = [sum(account.lost for account in run.story.accounts) for run in runs]
    least = min(sum(account.delivered for account in run.story.accounts) for run in runs)
    holds = not any(rebalances + lost) and least > 10_000
    return Finding(holds, f"{counts(rebalances)} rebalances, {counts(lost)} records lost of {least} or more")


ROWS = (
    Row(
        place="5.2 E1",
        claim="Rolling bounce of 10 instances: eager pauses ten times as long as cooperative (37.1 s to 3.5 s)",
        expected="factor of about 10, since a tenth of the partitions moves",
        verdict=IN_SHAPE,
        because=(
            "the factor comes with the work that a rebalance stops. Instances with tasks to close, as Streams has, "
            "stop all of them under eager, and 1 s of it gives the published 30 to 40 s. With nothing to close eager "
            "is the better one: members work on until they hear of a rebalance, all in the same instant, and stop for "
            "milliseconds, while a cooperative move needs a second round of heartbeats, 3 s"
        ),
        experiment="bounce-with-work",
        judge=pause_ratio,
    ),
    Row(
        place="5.2 E2",
        claim="Continual starts: cooperative doubles the throughput (+113 %, of Connect)",
        expected="in shape only: less time stopped, more work",
        verdict=IN_SHAPE,
        because="Connect's own protocol is not modelled; consumers with tasks to close are, and ever more of them",
        experiment="continual-starts",
        judge=continual_starts,
    ),
    Row(
        place="5.2 E3, KIP-429",
        claim="The first cooperative rebalance gives no moved partition to anyone, the second follows at once",
        expected="2 generations",
        verdict=HOLDS,
        experiment="join",
        judge=follow_up,
    ),
    Row(
        place="5.2 E4, apache/kafka#13920",
        claim="Cooperative loop of client 3.5.0: rebalances of 3 s, 200 or more in over 10 minutes",
        expected="200 × 3 s = 600 s, the heartbeat interval",
        verdict=IN_SHAPE,
        because=(
            "the bug itself is not modelled: the assignors are those of 4.0, with its own defects, and have no "
            "versions. The loop is, with an assignor that always takes something away (never_settles.py beside the "
            "experiment)"
        ),
        experiment="loop",
        judge=loop,
    ),
    Row(
        place="5.2 E5, confluent-kafka-python#1090",
        claim="librdkafka 1.6.1, cooperative-sticky: more than 100 rebalances per second",
        expected="–",
        verdict="not modelled",
        because="a bug of one release of one library, not of the protocol; profiles describe habits, not such bugs",
    ),
    Row(
        place="5.2 E6, librdkafka#4629",
        claim="3,000 partitions, 450 consumers, cooperative-sticky, session 15 s: rebalances do not settle",
        expected="a storm when members are silent for longer than 15 s",
        verdict=IN_SHAPE,
        because=(
            "a tenth of the size, and how long the assignment takes is set: librdkafka does not heartbeat until it has "
            "its SyncGroup answer, so a leader that computes for longer than its session is put out each time. Slow "
            "polls alone do not do it, as heartbeats have a thread of their own"
        ),
        experiment="session-storm",
        judge=session_storm,
    ),
    Row(
        place="5.2 E7, unsourced",
        claim="Eager takes 1 s for 10 consumers, 10 s for 100",
        expected="the reference's own doubt: the heartbeat's 3 s dominate, not the size",
        verdict=DIFFERS,
        because=(
            "a barrier waits for the last heartbeat, which comes within 3 s in any group. Size counts only through "
            "what grows with it: callbacks, time to compute, the chance that one of many is slow"
        ),
        experiment="sizes",
        judge=sizes,
    ),
    Row(
        place="5.3 S1, KIP-345",
        claim="Rolling bounce: rebalances in proportion to n, with static membership a small constant",
        expected="static: 0 when the restart is shorter than the session",
        verdict=HOLDS,
        experiment="bounces",
        judge=bounces,
    ),
    Row(
        place="5.3 S2",
        claim="A dynamic rolling upgrade is 2 × N rebalances; 10 instances, up to 20",
        expected="between N and 2N: a join within the leave's rebalance is part of it",
        verdict=HOLDS,
        experiment="quick-restarts",
        judge=quick_restarts,
    ),
    Row(
        place="5.3 S3",
        claim="40 instances, 200 partitions: about 2 minutes stopped per deploy",
        expected="40 × 3 s = 120 s",
        verdict=IN_SHAPE,
        because=(
            "two rebalances for each instance of 1.5 s on average, not one of 3 s; and that is how long the group "
            "rebalances, not how long a partition stands still: members that work on until they hear of it, all at "
            "once, stop for milliseconds when they have nothing to close (see E1)"
        ),
        experiment="fleet",
        judge=fleet_dynamic,
    ),
    Row(
        place="5.3 S3",
        claim="The same with static ids, restarts with p95 = 35 s: seconds in all",
        expected="only restarts beyond the session make a rebalance (60 s: hardly any; 45 s: the tail)",
        verdict=HOLDS,
        experiment="fleet",
        judge=fleet_static,
    ),
    Row(
        place="5.3 S4, KIP-735's 45 s",
        claim="No LeaveGroup on close (Kafka Streams): above 45 s; with it about 100 ms, ×450",
        expected="45 s, 0.1 s in a group with otherwise trivial rebalances",
        verdict=IN_SHAPE,
        because=(
            "the 45 s hold. After a LeaveGroup the others still have to hear of it by their next heartbeat, 0–3 s by "
            "default; 100 ms needs a heartbeat interval of that size, or a group without other members"
        ),
        experiment="close-without-leave",
        judge=close_without_leave,
    ),
    Row(
        place="5.3 S5, confluent-kafka-dotnet#1271",
        claim="One member that does not rejoin makes a rebalance last exactly 300 s, eager",
        expected="max.poll.interval.ms, everybody stopped",
        verdict=HOLDS,
        because="a Java member that is stuck leaves by itself when its own poll limit ends, a little sooner",
        experiment="never-rejoins",
        judge=never_rejoins_eager,
    ),
    Row(
        place="5.3 S5",
        claim="The same, cooperative",
        expected="the same barrier; the others keep theirs",
        verdict=HOLDS,
        experiment="never-rejoins",
        judge=never_rejoins_cooperative,
    ),
    Row(
        place="5.3 S6, childe/healer#4",
        claim="Parallel restart of 30 consumers, 120 partitions: 10–30 minutes till settled",
        expected="far less from a correct client",
        verdict=DIFFERS,
        because=(
            "that client gave up its JoinGroup before the coordinator answered, and joined again (its author's words "
            "in the thread). With a client that waits, the last start and one session decide; the loop itself is in "
            "the library: socket-timeout-below-the-hold"
        ),
        experiment="recreate",
        judge=recreate,
    ),
    Row(
        place="5.3 S7",
        claim="Pauses of about 30 s at each join",
        expected="a rejoin that does not come, until that client's session or rebalance timeout",
        verdict=IN_SHAPE,
        because=(
            "the thread's client is not modelled; shown is a process that was killed and is back at once, with a "
            "session of 30 s: its old self holds the rebalance open until its session ends"
        ),
        experiment="killed-and-back",
        judge=killed_and_back,
    ),
    Row(
        place="5.3 S8",
        claim="Most rebalances take seconds, some minutes, one 6 minutes",
        expected="slow polls and an eager barrier",
        verdict=IN_SHAPE,
        because="the barrier waits for the slowest of ten polls; how slow polls are is an assumption",
        experiment="heavy-polls",
        judge=heavy_polls,
    ),
    Row(
        place="5.3 S9, KIP-735",
        claim="session.timeout.ms 10 s → 45 s survives short stalls",
        expected="a session ends when a pause is longer than what is left of it: P(pause > session − U(0, 3 s))",
        verdict=HOLDS,
        experiment="stalls",
        judge=stalls,
    ),
    Row(
        place="5.3 S9, KIP-134",
        claim="The initial delay of 3 s merges the joins of a start",
        expected="generations N → 1–2",
        verdict=IN_SHAPE,
        because=(
            "1 with the delay as long as starts are less than 3 s apart. Without it there are fewer than N, since "
            "joins that arrive while others wait for a heartbeat merge too; with starts further apart the delay "
            "changes nothing"
        ),
        experiment="initial-delay",
        judge=initial_delay,
    ),
    Row(
        place="5.3 S10, Kafka's system tests",
        claim="Rolling bounce and failure of brokers: no rebalance",
        expected="0 rebalances, all records consumed",
        verdict=HOLDS,
        experiment="broker-bounce",
        judge=broker_bounce,
    ),
)
