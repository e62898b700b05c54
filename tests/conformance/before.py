"""The scripts on a real broker of the last line with the coordinator in Scala, and on `groupsim serve` as that release.

    python -m tests.conformance.before [SCRIPT …]      scripts of one node; first and last version of each

Scripts are written for 4.4, so that some are not fulfilled by an older broker. What counts is that both peers answer
the same: a script that fails on both, at the same request, is none of the differences. Two things are asked otherwise:
versions that the release does not have become its newest; metadata of a protocol are cut to five bytes, because a
subscription that claims more topics than it has bytes stops a round of a Scala coordinator for ever.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from unittest.mock import patch

from groupsim.control import Served
from tests.conformance.__main__ import FEW, chosen, compare, on_broker
from tests.conformance.actor import Actor
from tests.conformance.bodies import Body
from tests.conformance.cases import Case
from tests.conformance.live import Live, addresses_of, ended_in_order, options_of
from tests.conformance.player import Played, settings_for
from tests.conformance.servers import KafkaBroker

RELEASE = "3.9"
_NEWEST: Mapping[str, int] = {"DescribeGroups": 5, "OffsetCommit": 9, "OffsetFetch": 9, "ListTransactions": 1}
_CUT = 5  # a version and less than a number
_AT_ONCE = 12
_send = Actor.post


async def _posted(actor: Actor, api: str, version: int, body: Body) -> None:
    if api == "JoinGroup":
        offered = [{**one, "metadata": one["metadata"][-_CUT:]} for one in body["protocols"]]
        body = {**body, "protocols": offered}
    await _send(actor, api, min(version, _NEWEST.get(api, version)), body)


@contextmanager
def both() -> Iterator[tuple[Live, Live]]:
    """A real broker of that release, and the simulated one. Raises as `KafkaBroker` and `Served` do."""
    settings = settings_for(1)
    told = options_of({**settings, "broker.version": RELEASE}, 1)
    with KafkaBroker(1, settings, before=True) as kafka, Served(*told, "--api-profile", RELEASE) as simulated:
        yield Live(addresses_of(kafka.bootstrap)), Live(addresses_of(simulated.bootstrap))


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
    for name, real in there.items():
        one, other = _request(real.failure), _request(here[name].failure)
        if one != other:
            found[name] = [f"real: {real.failure}", f"simulated: {here[name].failure}"]
        elif one is None:
            found |= compare({name: real.transcript}, {name: here[name]})
    return found


def _request(failure: str | None) -> str | None:
    """At which request a script failed: script, actor, request."""
    return None if failure is None else ":".join(failure.split(":")[:3])


def main() -> int:
    """Play and compare; 0 when nothing differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.before", description=__doc__.split("\n", 1)[0])
    parser.add_argument("cases", nargs="*", metavar="SCRIPT")
    ended_in_order()
    one_node = chosen(parser.parse_args().cases, short=True, nodes=1)
    cases = [case for case in one_node if not case.kind and not case.only_real]
    with patch.object(Actor, "post", _posted), both() as (real, simulated):
        wrong = differing(cases, real, simulated)
    for name, lines in wrong.items():
        print("\n".join(f"DIFFERS {name}: {line}" for line in lines[:3]), flush=True)
    print(f"{len(cases)} scripts, {len(wrong)} differ")
    return 1 if wrong or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
