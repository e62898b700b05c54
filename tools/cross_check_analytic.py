"""Cross-checks of what follows from Kafka's defaults by arithmetic: first starts, joins, leaves, crashes, restarts.

Each function measures the runs of one experiment, and returns the figures and whether the expectation holds.
"""

from __future__ import annotations

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

EVENT = 70 * SECOND  # when the timelines begin
GROWN = 617 * SECOND  # when the partitions are added
HOLDS, IN_SHAPE, DIFFERS = "holds", "holds in shape", "differs"


def first_start(cells: Cells) -> Finding:
    """One member forms in 3 s; a second one within these adds 3 s more; either way one generation."""
    alone = [run.group.formed_us or 0 for name in cells if name.endswith("one") for run in cells[name]]
    together = [run.group.formed_us or 0 for name in cells if name.endswith("ten") for run in cells[name]]
    spaced = [run.group.formed_us or 0 for name in cells if name.endswith("30 s") for run in cells[name]]
    generations = [len(run.group.generations) for runs in cells.values() for run in runs]
    holds = within(alone, BEAT, BEAT) and within(together, 2 * BEAT, 2 * BEAT) and set(generations) == {1}
    measured = (
        f"{counts(generations)} generation; one member {spread(alone)}, ten at once {spread(together)}, "
        f"ten 3 s apart {spread(spaced)}"
    )
    return Finding(holds and min(spaced) > 27 * SECOND, measured)


def join_eager(cells: Cells) -> Finding:
    """One generation; the barrier waits for the last heartbeat; members with an early heartbeat stop longest."""
    runs = cells["eager"]
    lengths = [run.rebalances[0].duration_us for run in runs]
    stops = [one.length_us for run in runs for one in run.standstills(run.rebalances[0].number)]
    partitions = [len(run.standstills(run.rebalances[0].number)) for run in runs]
    holds = {len(run.rebalances) for run in runs} == {1} and within([*lengths, *stops], 0, BEAT)
    everyone = set(partitions) == {100}
    even = distance(flat(shares(run) for run in runs), uniform(0, 1)) < max(0.15, may_be(len(runs)))
    measured = f"1 generation; rebalance {spread(lengths)}; all {counts(partitions)} partitions stop, {spread(stops)}"
    return Finding(holds and everyone and even, measured)


def shares(run: Seen) -> list[float]:
    """The instant in its rebalance at which each member stopped: uniform for independent phases of heartbeats."""
    rebalance = run.rebalances[0]
    begins = {one.origin: one.began_us for one in run.standstills(rebalance.number)}
    return [(begun - rebalance.began_us) / rebalance.duration_us for begun in begins.values()]


def join_cooperative(cells: Cells) -> Finding:
    """Two generations; moved partitions stop from the end of the first to that of the second, others never."""
    runs = cells["cooperative"]
    first = [run.rebalances[0].duration_us for run in runs]
    second = [run.rebalances[1].duration_us for run in runs]
    stops = [one.length_us for run in runs for one in run.group.standstills]
    moved = [len(run.group.standstills) for run in runs]
    holds = {len(run.rebalances) for run in runs} == {2} and within([*first, *second, *stops], 0, BEAT)
    own = all(one.target == "late" for run in runs for one in run.group.standstills)
    measured = (
        f"2 generations: {spread(first)}, then {spread(second)}; only the {counts(moved)} moved partitions stop, "
        f"{spread(stops)}"
    )
    return Finding(holds and own and set(moved) == {9}, measured)


def follow_up(cells: Cells) -> Finding:
    """The first generation moves no partition, the second starts at once, and it is the last."""
    runs = cells["cooperative"]
    between = [run.rebalances[1].began_us - run.rebalances[0].ended_us for run in runs]
    moves = [(len(run.rebalances[0].moves), len(run.rebalances[1].moves)) for run in runs]
    holds = set(moves) == {(0, 9)} and within(between, 0, 0) and all(run.rebalances[1].follow_up for run in runs)
    measured = f"moves: {moves[0][0]}, then {moves[0][1]}; {spread(between)} between the two; 2 generations in all"
    return Finding(holds and {len(run.rebalances) for run in runs} == {2}, measured)


def leave_eager(cells: Cells) -> Finding:
    """One generation; every member stops for 0 to 3 s."""
    runs = cells["eager"]
    stops = [one.length_us for run in runs for one in run.group.standstills]
    partitions = [len(run.group.standstills) for run in runs]
    holds = {len(run.rebalances) for run in runs} == {1} and within(stops, 0, BEAT) and set(partitions) == {100}
    lengths = [run.rebalances[0].duration_us for run in runs]
    return Finding(holds, f"1 generation; rebalance {spread(lengths)}; all partitions stop, {spread(stops)}")


def leave_cooperative(cells: Cells) -> Finding:
    """One generation, since the others keep what they have; the leaver's partitions wait for it."""
    runs = cells["cooperative"]
    stops = [one.length_us for run in runs for one in run.group.standstills]
    own = all(one.origin == "c-4" for run in runs for one in run.group.standstills)
    numbers = {len(run.rebalances) for run in runs}
    measured = f"{counts(numbers)} generation; only the leaver's 10 partitions stop, {spread(stops)}"
    return Finding(numbers == {1} and own and within(stops, 0, BEAT), measured)


def crash(cells: Cells) -> Finding:
    """Noticed 45 s after the last heartbeat, which was up to 3 s before the crash; then one barrier."""
    runs = flat(cells.values())
    noticed = [run.group.evictions[0].removed_us - EVENT for run in runs]
    barrier = [run.rebalances[0].duration_us for run in runs]
    stops = [one.length_us for run in runs for one in run.group.standstills if one.origin == "c-4"]
    even = distance(noticed, uniform(42 * SECOND, 45 * SECOND)) < may_be(len({run.seed for run in runs}))
    holds = within(noticed, 42 * SECOND, 45 * SECOND) and within(barrier, 0, BEAT)
    measured = (
        f"noticed after {spread(noticed)}, evenly spread; barrier {spread(barrier)}; its partitions {spread(stops)}"
    )
    return Finding(holds and even and within(stops, 42 * SECOND, 48 * SECOND), measured)


def static_crash(cells: Cells) -> Finding:
    """No rebalance; only the partitions of the crashed member wait."""
    runs = flat(cells.values())
    stops = [one.length_us for run in runs for one in run.group.standstills]
    own = all(one.origin == one.target == "c-4" for run in runs for one in run.group.standstills)
    none = not any(run.rebalances for run in runs)
    return Finding(none and own and within(stops, 30 * SECOND, 30 * SECOND), f"0 rebalances; own: {spread(stops)}")


def stuck_eager(cells: Cells) -> Finding:
    """The other members stop within a heartbeat interval, and wait until the stuck member polls again."""
    runs = cells["eager"]
    others = [one.length_us for run in runs for one in run.group.standstills if one.origin != "c-4"]
    stopped = {len({one.partition for one in run.group.standstills}) for run in runs}
    # it was blocked from about 70 s on, the newcomer came at 72 s, and the last of the others hears within 3 s
    holds = within(others, 94 * SECOND, 99 * SECOND) and stopped == {100}
    return Finding(holds, f"partitions of the nine others stop {spread(others)}")


def stuck_cooperative(cells: Cells) -> Finding:
    """The first rebalance waits for the stuck member, others work on; what moves stops for the second one only."""
    runs = cells["cooperative"]
    first = [run.rebalances[0].duration_us for run in runs]
    moved = [one.length_us for run in runs for one in run.group.standstills]
    handed = [run.rebalances[1].ended_us - 72 * SECOND for run in runs]
    kept = {len(run.group.standstills) for run in runs} == {9} and not any(run.group.evictions for run in runs)
    holds = within(first, 97 * SECOND, 99 * SECOND) and within(moved, 0, BEAT) and kept
    measured = (
        f"first generation {spread(first)}; the 9 partitions to be moved get their new owner {spread(handed)} after "
        f"the join, but stop for {spread(moved)} only; all members stay"
    )
    return Finding(holds, measured)


def more_partitions(cells: Cells) -> Finding:
    """The leader sees them at its next metadata refresh, U(0, 300 s); then one barrier of 0 to 3 s."""
    runs = flat(cells.values())
    begun = [run.rebalances[-1].began_us - GROWN for run in runs]
    barrier = [run.rebalances[-1].duration_us for run in runs]
    served = [run.rebalances[-1].ended_us - GROWN for run in runs]
    even = distance(begun, uniform(0, 300 * SECOND)) < may_be(len({run.seed for run in runs}))
    size = {len([one for one in run.rebalances if one.began_us > GROWN]) for run in runs}
    measured = (
        f"{counts(size)} generation, cooperative too, as nothing moves; begins after {spread(begun)}, mean "
        f"{seconds(mean(begun))}, evenly spread; barrier {spread(barrier)}; all assigned after {spread(served)}"
    )
    return Finding(even and size == {1} and within(begun, 0, 300 * SECOND) and within(barrier, 0, BEAT), measured)


def failover(cells: Cells) -> Finding:
    """No rebalance: sessions start again when the group is loaded."""
    runs = flat(cells.values())
    rebalances = [len(run.rebalances) for run in runs]
    evicted = [len(run.group.evictions) for run in runs]
    return Finding(not any(rebalances + evicted), f"{counts(rebalances)} rebalances, {counts(evicted)} evictions")


def rolling_eager(cells: Cells) -> Finding:
    """A leave and a join each, every one of them a barrier of 0 to 3 s."""
    runs = cells["eager, dynamic"]
    rebalances = [len(run.rebalances) for run in runs]
    lengths = [one.duration_us for run in runs for one in run.rebalances]
    own = [one.length_us for run in runs for one in run.group.standstills if one.basis == "released"]
    holds = all(10 <= number <= 20 for number in rebalances) and within(lengths, 0, BEAT) and within(own, 0, BEAT)
    held = [max(one.length_us for one in run.group.standstills) for run in runs]
    common = [one.length_us for run in runs for one in run.group.standstills]
    measured = (
        f"{counts(rebalances)} rebalances of {spread(lengths)}; one standstill: {spread(common)}, longest of a run "
        f"{spread(held)}"
    )
    return Finding(holds, measured)


def rolling_cooperative(cells: Cells) -> Finding:
    """Only the moved share stops; at most four generations for each restart."""
    runs = cells["cooperative, dynamic"]
    rebalances = [len(run.rebalances) for run in runs]
    moved = [run.group.moved for run in runs]
    stops = [one.length_us for run in runs for one in run.group.standstills]
    idle = [len(run.group.standstills) for run in runs]
    holds = all(20 <= number <= 40 for number in rebalances) and within(stops, 0, BEAT) and max(idle) <= max(moved)
    return Finding(holds, f"{counts(rebalances)} rebalances; {counts(moved)} moves; only these stop, {spread(stops)}")


def rolling_static(cells: Cells) -> Finding:
    """No rebalance, own partitions wait for the restart."""
    runs = [*cells["eager, static"], *cells["cooperative, static"]]
    stops = [one.length_us for run in runs for one in run.group.standstills]
    none = not any(run.rebalances for run in runs)
    return Finding(none and within(stops, 20 * SECOND, 20 * SECOND), f"0 rebalances; own: {spread(stops)}")


ROWS = (
    Row(
        place="5.5 first start",
        claim="First start of N members at once",
        expected="3 s initial delay (more if spread), 1 generation",
        verdict=IN_SHAPE,
        because=(
            "3 s is right for one member only. The second member to join within the window opens another of 3 s "
            "(KIP-134, reference classic 2.5), so two or more at once form in 6 s"
        ),
        experiment="first-start",
        judge=first_start,
    ),
    Row(
        place="5.5 one join",
        claim="One join, eager",
        expected="1 generation; all stop for 0–3 s",
        verdict=HOLDS,
        because="each stops at its own heartbeat and waits for the last one's: hardly anybody for the whole rebalance",
        experiment="join",
        judge=join_eager,
    ),
    Row(
        place="5.5 one join",
        claim="One join, cooperative",
        expected="2 generations, 0–3 s each; moved partitions stop",
        verdict=HOLDS,
        because=(
            "the second always takes the whole 3 s: the answer to JoinGroup restarts all heartbeat intervals, and "
            "only the next heartbeat reports the second rebalance"
        ),
        experiment="join",
        judge=join_cooperative,
    ),
    Row(
        place="5.5 graceful leave",
        claim="A dynamic member leaves, eager",
        expected="all stop for 0–3 s",
        verdict=HOLDS,
        experiment="leave",
        judge=leave_eager,
    ),
    Row(
        place="5.5 graceful leave",
        claim="A dynamic member leaves, cooperative",
        expected="1 generation if nothing else has to move; the leaver's partitions idle for 0–3 s",
        verdict=HOLDS,
        experiment="leave",
        judge=leave_cooperative,
    ),
    Row(
        place="5.5 crash",
        claim="A dynamic member crashes, eager or cooperative",
        expected="42–45 s + 0–3 s",
        verdict=HOLDS,
        experiment="crash",
        judge=crash,
    ),
    Row(
        place="5.5 static crash",
        claim="A static member crashes and is back in 30 s, eager or cooperative",
        expected="0 rebalances, 30 s for its partitions",
        verdict=HOLDS,
        experiment="static-crash",
        judge=static_crash,
    ),
    Row(
        place="5.5 stuck member",
        claim="One member is stuck in processing for T = 100 s during a join, eager",
        expected="all stop for T",
        verdict=HOLDS,
        because="T counts from the join, 2 s later, and from each member's next heartbeat",
        experiment="stuck",
        judge=stuck_eager,
    ),
    Row(
        place="5.5 stuck member",
        claim="The same, cooperative",
        expected="partitions in motion wait for T; all members stay and keep theirs",
        verdict=HOLDS,
        because="it is the move that waits for T: the old owners work on until the first generation is there",
        experiment="stuck",
        judge=stuck_cooperative,
    ),
    Row(
        place="5.5 more partitions; 5.1 P1, its classic half",
        claim="900 partitions more, eager or cooperative",
        expected="U(0, 300 s) + 0–3 s; published: one draw of 103 s",
        verdict=HOLDS,
        because="the leader alone watches the topics, and asks every metadata.max.age.ms; 103 s is an ordinary draw",
        experiment="more-partitions",
        judge=more_partitions,
    ),
    Row(
        place="5.5 coordinator failover",
        claim="The coordinator is away for 10 s, moved or crashed, eager or cooperative",
        expected="0 rebalances",
        verdict=HOLDS,
        experiment="failover",
        judge=failover,
    ),
    Row(
        place="5.5 rolling restart",
        claim="Rolling restart of 10 dynamic members, 20 s each, eager",
        expected="10–20 stops of 0–3 s each",
        verdict=IN_SHAPE,
        because=(
            "20 rebalances of 0–3 s, but few partitions stand still as long: the rebalance before has put all "
            "heartbeats in step, everybody hears of the next in the same instant, and only the leaver's partitions "
            "wait for that"
        ),
        experiment="rolling",
        judge=rolling_eager,
    ),
    Row(
        place="5.5 rolling restart",
        claim="The same, cooperative",
        expected="moved share only, at most 40 generations",
        verdict=HOLDS,
        because="30: a leave is one generation, a join two",
        experiment="rolling",
        judge=rolling_cooperative,
    ),
    Row(
        place="5.5 rolling restart, static",
        claim="Rolling restart of 10 static members, 20 s each, eager or cooperative",
        expected="0 rebalances, own partitions 20 s",
        verdict=HOLDS,
        experiment="rolling",
        judge=rolling_static,
    ),
)
