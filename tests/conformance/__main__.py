"""The conformance suite: the same scripts on a real Kafka broker and on `groupsim serve`, transcripts compared.

    python -m tests.conformance                    both are started here; what they say must be the same
    python -m tests.conformance --on core          the core in virtual time, against the recorded transcripts
    python -m tests.conformance --on serve         `groupsim serve`, started here, against the recorded transcripts
    python -m tests.conformance --on HOST:PORT     a broker that runs already (settings: `player.SETTINGS`), likewise;
                                                   scripts of one node with these settings only

Names of tables, or beginnings of names of scripts, choose among them; `--long` adds those that take more than 30 s,
`--short` leaves out the repetitions at versions between the first and the last, `--without KIND` the scripts that want
a node of that kind (`alone` is started again and again: minutes). Exit code 1 when anything differs.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence

import trio

from tests.conformance.basics import TimingFailed
from tests.conformance.cases import ALONE, Case
from tests.conformance.core import play_on_core
from tests.conformance.data import load
from tests.conformance.live import Live, addresses_of, ended_in_order, real, served
from tests.conformance.player import AT_ONCE, KINDS, SEVERAL, Played, play_all, settings_for
from tests.conformance.ready import await_ready
from tests.conformance.scripts import all_cases
from tests.conformance.transcript import Transcript, differences

FEW = 4
PEERS = (*((1, kind) for kind in KINDS), *((3, kind) for kind in SEVERAL))
"""How many nodes, and of which kind."""


def chosen(
    names: Iterable[str] = (),
    *,
    long: bool = False,
    short: bool = False,
    nodes: int | None = None,
    without: Sequence[str] = (),
) -> list[Case]:
    """The cases of these tables, or whose names begin so; all of them when nothing is named.

    `nodes`: those of clusters of so many; `without`: not those of these kinds, where `alone` stands for all that are
    started again and again.
    """
    left_out = {*without, *(ALONE if "alone" in without else ())}
    cases = [case for case in all_cases().values() if nodes in (None, case.nodes) and case.kind not in left_out]
    cases = [case for case in cases if long or not case.long]
    wanted = tuple(names)
    cases = [case for case in cases if not wanted or case.table in wanted or case.id.startswith(wanted)]
    return [case for case in cases if _at_the_ends(case, cases)] if short else cases


def _at_the_ends(case: Case, cases: list[Case]) -> bool:
    versions = [other.version for other in cases if other.play is case.play]
    return case.version in (versions[0], versions[-1])


def on_broker(
    cases: list[Case], live: Live, *, quiet: bool = False, at_once: int = AT_ONCE, nonce: str = ""
) -> dict[str, Played]:
    """Play on brokers behind sockets, as soon as they are ready."""

    async def ready_and_play() -> dict[str, Played]:
        await await_ready(live.listening)
        told = (lambda played: None) if quiet else tell
        return await play_all(cases, live.addresses, told, at_once, nonce, live.nodes)

    return trio.run(ready_and_play) if cases else {}


def on_core(cases: list[Case]) -> dict[str, Played]:
    """Play in virtual time, with the recorded ids."""
    results = {}
    for case in cases:
        recorded = load(case.table).get(case.id)
        try:
            results[case.id] = play_on_core(case, recorded)
        except TimingFailed as late:
            results[case.id] = Played(case, Transcript({}, {}), str(late))
    return results


def on_serve(cases: Iterable[Case]) -> dict[str, list[str]]:
    """Play on a `groupsim serve` of each kind that the cases want; what differs from the recorded transcripts."""
    wrong: dict[str, list[str]] = {}
    compared = [case for case in cases if not case.only_real]
    for nodes, kind in PEERS:
        ours = [case for case in compared if (case.nodes, case.kind) == (nodes, kind)]
        if ours:
            with served(settings_for(nodes, kind), nodes, handled=ours[0].handled) as simulated:
                wrong |= _against_recorded(ours, simulated)
    return wrong


def tell(played: Played) -> None:
    """A line for a play that failed, and one for each try that failed before."""
    for why in played.before:
        print(f"again   {why}", flush=True)
    if played.failure:
        print(f"FAILED  {played.failure}", flush=True)


def compare(
    expected: Mapping[str, Transcript], got: Mapping[str, Played], *, ids_given: bool = False
) -> dict[str, list[str]]:
    """What differs, by script. Scripts that depend on hash order count only where ids are given."""
    found: dict[str, list[str]] = {}
    for name, played in got.items():
        if played.case.only_real or (played.case.hash_order and not ids_given):
            continue
        there = expected.get(name)
        lines = [played.failure] if played.failure else []
        lines += ["not recorded"] if there is None else _differences(there, played, ids_given=ids_given)
        if lines:
            found[name] = lines
    return found


def _differences(there: Transcript, played: Played, *, ids_given: bool) -> list[str]:
    in_order = ids_given and played.case.members_in_order
    return differences(there, played.transcript, members_in_order=in_order)


def recorded(cases: Iterable[Case]) -> dict[str, Transcript]:
    """What the data says of these cases."""
    tables = {case.table: load(case.table) for case in cases}
    return {name: transcript for table in tables.values() for name, transcript in table.items()}


def main() -> int:
    """Play and compare; 0 when everything is the same."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.conformance", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cases", nargs="*", metavar="SCRIPT")
    parser.add_argument("--on", metavar="core|serve|HOST:PORT")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--nodes", type=int, metavar="N", help="only scripts of clusters of so many nodes")
    parser.add_argument("--without", action="append", default=[], choices=[kind for kind in KINDS if kind])
    asked = parser.parse_args()
    ended_in_order()
    cases = chosen(asked.cases, long=asked.long, short=asked.short, nodes=asked.nodes, without=asked.without)
    if asked.on == "core":
        wrong = compare(recorded(cases), on_core(cases), ids_given=True)
    elif asked.on == "serve":
        wrong = on_serve(cases)
    elif asked.on:
        live = Live(addresses_of(asked.on))
        cases = [case for case in cases if (case.nodes, case.kind) == (1, "")]
        wrong = _against_recorded(cases, live)
    else:
        wrong = {}
        for nodes, kind in PEERS:
            wrong |= _side_by_side([case for case in cases if (case.nodes, case.kind) == (nodes, kind)], nodes, kind)
    for name, lines in wrong.items():
        print("\n".join(f"DIFFERS {name}: {line}" for line in lines[:3]), flush=True)
    print(f"{len(cases)} scripts, {len(wrong)} differ")
    return 1 if wrong or not cases else 0


def _against_recorded(cases: list[Case], live: Live) -> dict[str, list[str]]:
    expected = recorded(cases)
    wrong = compare(expected, on_broker(cases, live))
    again = [case for case in cases if case.id in wrong]
    return compare(expected, on_broker(again, live, at_once=FEW, nonce="-again")) if again else {}


def _side_by_side(cases: list[Case], nodes: int, kind: str) -> dict[str, list[str]]:
    """On both clusters of so many nodes; what differs is played once more on both, few at a time."""
    if all(case.only_real for case in cases):
        return {}
    settings = settings_for(nodes, kind)
    handled = cases[0].handled
    with real(settings, nodes, handled=handled) as kafka, served(settings, nodes, handled=handled) as simulated:
        there, here = on_broker(cases, kafka), on_broker([c for c in cases if not c.only_real], simulated)
        wrong = _wrong(there, here)
        again = [case for case in cases if case.id in wrong]
        for name, lines in wrong.items():
            print(f"once more {name}: {lines[0]}", flush=True)
        if again:
            there |= on_broker(again, kafka, at_once=FEW, nonce="-again")
            here |= on_broker([c for c in again if not c.only_real], simulated, at_once=FEW, nonce="-again")
    _tell_tries(f"{nodes} node(s){kind and f', {kind}'}", there, here)
    _tell_news(there)
    return _wrong(there, here)


def _tell_tries(peers: str, there: Mapping[str, Played], here: Mapping[str, Played]) -> None:
    """How many plays needed another try, on whom."""
    for whose, plays in (("the real broker", there), ("the simulated one", here)):
        tried = sum(1 for played in plays.values() if played.before)
        print(f"{peers}, {whose}: {len(plays)} plays, {tried} needed another try", flush=True)


def _wrong(real: Mapping[str, Played], ours: Mapping[str, Played]) -> dict[str, list[str]]:
    failed = {name: [f"on the real broker: {one.failure}"] for name, one in real.items() if one.failure}
    return compare({name: one.transcript for name, one in real.items()}, ours) | failed


def _tell_news(real: Mapping[str, Played]) -> None:
    """Where the real broker says something else than when it was recorded."""
    old = recorded([played.case for played in real.values()])
    for name, played in real.items():
        comparable = name in old and not played.case.hash_order and not played.failure
        if comparable and differences(old[name], played.transcript):
            print(f"NOTE    {name}: the real broker says otherwise than recorded", flush=True)


if __name__ == "__main__":
    sys.exit(main())
