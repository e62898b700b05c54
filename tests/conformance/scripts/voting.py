"""Which protocol is selected (reference 2.3)."""

from __future__ import annotations

from tests.conformance.script import DELAY_MS, Script, script

NAMES = {"range": "1", "roundrobin": "2", "cooperative-sticky": "3", "sticky": "4"}
TWICE = (("range", "1"), ("range", "1"))


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


@script(rows=["2.3-a-name-said-twice-breaks-the-vote"])
async def a_name_said_twice_leaves_the_first_round_open(s: Script) -> None:
    a, b = await s.pair()
    await a.enter(protocols=TWICE)
    await s.until("PreparingRebalance", 1)
    await a.silence(3 * DELAY_MS)
    await b.join(v=3, error="INCONSISTENT_GROUP_PROTOCOL")
    await b.describe()


@script(rows=["2.3-a-name-said-twice-breaks-the-vote"])
async def a_round_that_cannot_close(s: Script) -> None:
    a = await s.actor()
    await s.form(a)
    await a.join(protocols=TWICE, error="UNKNOWN_SERVER_ERROR")
    await a.heartbeat(error="ILLEGAL_GENERATION")
    await a.heartbeat(generation=2, error="REBALANCE_IN_PROGRESS")
    await a.join(error="INCONSISTENT_GROUP_PROTOCOL")
    await a.describe()


@script(rows=["2.3-bucket-stream"])
async def stream_against_another(s: Script) -> None:
    await vote(s, offer("roundrobin", "stream"), offer("stream", "roundrobin"))


@script(rows=["2.3-bucket-sessioned"])
async def sessioned_against_another(s: Script) -> None:
    await vote(s, offer("roundrobin", "sessioned"), offer("sessioned", "roundrobin"))
