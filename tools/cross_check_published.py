"""Cross-checks of claims that were published: KIPs, talks, threads, other people's measurements.

Each function looks at the runs of one experiment, says what it measured and whether the expectation holds.
"""

from __future__ import annotations

from cross_check_analytic import DIFFERS, EVENT, HOLDS, IN_SHAPE, follow_up
from cross_check_runs import BEAT, SECOND, Cells, Finding, Row, Seen, counts, flat, mean, seconds, spread, within

from groupsim.eventloop.events import Kind
from groupsim.scenarios.story.model import Silence

MINUTE = 60 * SECOND


def stop_of_a_partition(run: Seen, partitions: int = 100) -> float:
    """How long a partition stood still in all, on average."""
    return sum(one.unserved_us for one in run.group.standstills) / partitions


def pause_ratio(cells: Cells) -> Finding:
    """Cooperative stops a tenth for each move; eager everybody, for as long as the slowest takes to close."""
    stops = {name: mean(stop_of_a_partition(run) for run in runs) for name, runs in cells.items()}
    ratios = {
        closing: stops[f"eager, {closing}"] / stops[f"cooperative, {closing}"] for closing in ("nothing", "1 s", "2 s")
    }
    figures = "; ".join(
        f"closing takes {closing}: {seconds(stops[f'eager, {closing}'])} eager, "
        f"{seconds(stops[f'cooperative, {closing}'])} cooperative, ratio {ratio:.1f}"
        for closing, ratio in ratios.items()
    )
    return Finding(ratios["nothing"] < 2 < ratios["1 s"] < ratios["2 s"], f"stop of a partition in all: {figures}")


def continual_starts(cells: Cells) -> Finding:
    """The share of partition time that stands still while members go on starting."""
    window = 210 * SECOND
    share = {name: mean(stop_of_a_partition(run) / window for run in runs) for name, runs in cells.items()}
    gain = (1 - share["cooperative"]) / (1 - share["eager"]) - 1
    measured = (
        f"stopped for {share['eager']:.0%} of the time eager, {share['cooperative']:.0%} cooperative: {gain:+.0%} work"
    )
    return Finding(share["eager"] > 3 * share["cooperative"] and gain > 0.1, measured)


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
    late = {name: [len([g for g in run.rebalances if g.began_us > 300 * SECOND]) for run in runs] for name, runs in cells.items()}
    formed = [run.group.formed_us for name in ("100ms", "5s") for run in cells[name]]
    never = all(run.group.formed_us is None for run in cells["20s"])
    calm = not any(late["100ms"] + late["5s"])
    measured = (
        f"assignment in 100 ms or 5 s: formed after {spread(one or 0 for one in formed)}, no rebalance; in 20 s: never "
        f"Stable, {counts(late['20s'])} rebalances in the second five minutes"
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
    figures = "; ".join(f"{name.removeprefix('static, ')}: {counts(some)}, mean {mean(some):.1f}" for name, some in numbers.items())
    return Finding(exact and known and falling, f"rebalances: {figures}")


def overdue(run: Seen) -> list[int]:
    """When members were removed because their session had ended."""
    return [one.removed_us for one in run.group.evictions if one.reason == "session-expired"]


def close_without_leave(cells: Cells) -> Finding:
    """The session's 45 s and a heartbeat interval, or the heartbeat interval alone."""
    stops = {
        name: [one.unserved_us for run in runs for one in run.group.standstills if one.origin == "c-2"]
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
    """The barrier stays open for the rebalance timeout; everybody stands still."""
    mute = [run.rebalances[0].duration_us for run in cells["eager, never rejoins"]]
    busy = [run.rebalances[0].duration_us for run in cells["eager, stuck in processing"]]
    stops = [one.unserved_us for run in cells["eager, stuck in processing"] for one in run.group.standstills]
    holds = within(mute, 300 * SECOND, 300 * SECOND) and within(busy, 295 * SECOND, 300 * SECOND)
    measured = (
        f"rebalance {exactly(mute)} when it never rejoins, {exactly(busy)} when its poll limit ends it; partitions "
        f"stop {spread(stops)}"
    )
    return Finding(holds and max(stops) > 295 * SECOND, measured)


def never_rejoins_cooperative(cells: Cells) -> Finding:
    """The rebalance takes as long, but the others work on."""
    runs = [*cells["cooperative, never rejoins"], *cells["cooperative, stuck in processing"]]
    lengths = [run.rebalances[0].duration_us for run in runs]
    others = [
        one.unserved_us for run in runs for one in run.group.standstills if one.origin not in ("mute", "c-4")
    ]
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
    stops = [one.unserved_us for run in runs for one in run.group.standstills if one.origin != "c-4"]
    holds = within(lengths, 26 * SECOND, 29 * SECOND)
    return Finding(holds and max(stops) > 25 * SECOND, f"rebalance {spread(lengths)}; others stop {spread(stops)}")


def heavy_polls(cells: Cells) -> Finding:
    """A rebalance takes as long as the slowest poll."""
    lengths = sorted(run.rebalances[0].duration_us for run in flat(cells.values()) if run.rebalances)
    tenth = lengths[len(lengths) * 9 // 10]
    measured = f"rebalances {spread(lengths)}, one in ten above {seconds(tenth)}"
    return Finding(lengths[len(lengths) // 2] < MINUTE < 2 * MINUTE < lengths[-1], measured)


def stalls(cells: Cells) -> Finding:
    """Long pauses expire a session, and what is not long is survived with 45 s."""
    told = []
    average = {}
    for name, runs in cells.items():
        session = int(name) * 1000
        pauses = flat(paused(run) for run in runs)
        evicted = sum(one.cause is Silence.PAUSE and one.reason == "session-expired" for run in runs for one in run.group.evictions)
        sure, possible = sum(one > session for one in pauses), sum(one > session - BEAT for one in pauses)
        average[name] = evicted / len(pauses)
        told.append((evicted, sure, possible, f"{session // SECOND} s: {evicted} of {len(pauses)} pauses expire it ({sure} are longer)"))
    holds = all(evicted <= possible and evicted >= 0.7 * sure for evicted, sure, possible, _ in told)
    ratio = average["10000"] / average["45000"] if average["45000"] else float("inf")
    return Finding(holds and ratio > 5, "; ".join(text for *_, text in told) + f"; ratio {ratio:.0f}")


def paused(run: Seen) -> list[int]:
    """The lengths of the pauses that ended before the run did."""
    pauses = [event for event in run.events if event.kind is Kind.PROCESS_PAUSED]
    lengths = [(event.t_us, int((event.payload or {})["pause_us"])) for event in pauses]
    return [length for begun, length in lengths if begun + length < run.story.end_us]


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
