"""Which protocol is selected (reference 2.3)."""

from __future__ import annotations

from tests.conformance.script import Script, script

NAMES = {"range": "1", "roundrobin": "2", "cooperative-sticky": "3", "sticky": "4"}


def offer(*names: str) -> dict[str, str]:
    return {name: NAMES.get(name, "5") for name in names}


async def vote(s: Script, *lists: dict[str, str]) -> None:
    actors = [await s.actor("abcd"[number]) for number in range(len(lists))]
    for count, (actor, protocols) in enumerate(zip(actors, lists, strict=True), 1):
        await actor.enter(protocols=protocols)
        await s.until("PreparingRebalance", count)
    await s.joined(*actors)


@script(rows=["2.3-first-of-its-list", "2.3-only-candidates"])
async def only_what_all_offer_is_voted_for(s: Script) -> None:
    await vote(s, offer("sticky", "range", "roundrobin"), offer("roundrobin", "range"))


@script(rows=["2.3-most-votes"])
async def most_votes_win(s: Script) -> None:
    await vote(s, offer("range", "roundrobin"), offer("roundrobin", "range"), offer("roundrobin", "range"))


@script(rows=["2.3-tie-range-over-roundrobin", "2.3-bucket-range", "2.3-bucket-roundrobin"])
async def range_beats_roundrobin(s: Script) -> None:
    await vote(s, offer("roundrobin", "range"), offer("range", "roundrobin"))


@script(rows=["2.3-tie-roundrobin-over-cooperative", "2.3-bucket-cooperative-sticky"])
async def roundrobin_beats_cooperative_sticky(s: Script) -> None:
    await vote(s, offer("cooperative-sticky", "roundrobin"), offer("roundrobin", "cooperative-sticky"))


@script(rows=["2.3-tie-sticky-over-range", "2.3-bucket-sticky"])
async def sticky_beats_range(s: Script) -> None:
    await vote(s, offer("range", "sticky"), offer("sticky", "range"))


@script(
    rows=["2.3-tie-same-bucket-first", "2.3-tie-same-bucket-second", "2.3-bucket-default", "2.3-bucket-compatible"],
    hash_order=True,
)
async def one_bucket_in_the_order_of_the_votes(s: Script) -> None:
    await vote(s, offer("compatible", "default"), offer("default", "compatible"))
