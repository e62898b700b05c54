"""The scripts on a real broker of the last line with the coordinator in Scala, and on `groupsim serve` as that release.

    python -m tests.conformance.before [--nodes 3] [SCRIPT …]      first and last version of each

Scripts are written for 4.4, so that some are not fulfilled by an older broker. What counts is that both peers answer
the same: a script that fails on both, at the same request and with the same answers, is none of the differences. What
is asked in its place stands in scripts of the kind `scala`, which belong to the suite. Two things are asked otherwise:
versions that the release does not have become its newest; metadata of a protocol are cut to five bytes, because a
subscription that claims more topics than it has bytes stops a round of a Scala coordinator for ever.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from unittest.mock import patch

from attrs import evolve

from tests.conformance.__main__ import FEW, chosen, compare, on_broker
from tests.conformance.actor import Actor
from tests.conformance.basics import NEWEST_OF_SCALA, SCALA
from tests.conformance.bodies import Body
from tests.conformance.cases import Case
from tests.conformance.live import RELEASE, Live, ended_in_order, real, served
from tests.conformance.player import Played, settings_for

KNOWN: Mapping[str, str] = {
    "the-old-coordinator-answers-nothing": "an OffsetFetch of version 0 or 1 that fails names no partition there",
    "what-was-deleted-stays-deleted": (
        "a tombstone does not wake the followers there: a move within `replica.fetch.wait.max.ms` loses it"
    ),
}
"""Scripts in which the two differ and are left so, and why."""
_CUT = 5  # a version and less than a number
_AT_ONCE = 12
_send = Actor.post


async def _posted(actor: Actor, api: str, version: int, body: Body) -> None:
    if api == "JoinGroup":
        offered = [{**one, "metadata": one["metadata"][-_CUT:]} for one in body["protocols"]]
        body = {**body, "protocols": offered}
    await _send(actor, api, min(version, NEWEST_OF_SCALA.get(api, version)), body)


@contextmanager
def both(nodes: int) -> Iterator[tuple[Live, Live]]:
    """Real brokers of that release, and simulated ones. Raises as `KafkaBroker` and `Served` do."""
    settings = {**settings_for(nodes), RELEASE: SCALA}
    handled = nodes > 1
    with real(settings, nodes, handled=handled) as kafka, served(settings, nodes, handled=handled) as simulated:
        yield kafka, simulated


def differing(cases: list[Case], real: Live, simulated: Live) -> dict[str, list[str]]:
    """What the two answer otherwise, by script; what differs is asked once more, few at a time."""
    wrong: dict[str, list[str]] = {}
    for at_once, nonce in ((_AT_ONCE, ""), (FEW, "-again")):
        there = on_broker(cases, real, quiet=True, at_once=at_once, nonce=nonce)
        here = on_broker(cases, simulated, quiet=True, at_once=at_once, nonce=nonce)
        wrong = _wrong(there, here)
        cases = [case for case in cases if case.id in wrong]
    return wrong


def _wrong(there: Mapping[str, Played], here: Mapping[str, Played]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, played in there.items():
        one, other = _request(played.failure), _request(here[name].failure)
        if one != other:
            found[name] = [f"real: {played.failure}", f"simulated: {here[name].failure}"]
        else:
            found |= compare({name: played.transcript}, {name: evolve(here[name], failure=None)})
    return found


def _request(failure: str | None) -> str | None:
    """At which request a script failed: script, actor, request."""
    return None if failure is None else ":".join(failure.split(":")[:3])


def main() -> int:
    """Play and compare; 0 when nothing differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.before", description=__doc__.split("\n", 1)[0])
    parser.add_argument("cases", nargs="*", metavar="SCRIPT")
    parser.add_argument("--nodes", type=int, choices=(1, 3), default=1, help="scripts of clusters of so many nodes")
    ended_in_order()
    asked = parser.parse_args()
    of_these = chosen(asked.cases, short=True, nodes=asked.nodes)
    cases = [case for case in of_these if not case.kind and not case.only_real]
    with patch.object(Actor, "post", _posted), both(asked.nodes) as (kafka, simulated):
        wrong = differing(cases, kafka, simulated)
    unknown = {name: lines for name, lines in wrong.items() if name not in KNOWN}
    for name, lines in unknown.items():
        print("\n".join(f"DIFFERS {name}: {line}" for line in lines[:3]), flush=True)
    for name in sorted(set(wrong) - set(unknown)):
        print(f"KNOWN   {name}: {KNOWN[name]}", flush=True)
    print(f"{len(cases)} scripts, {len(unknown)} differ")
    return 1 if unknown or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
