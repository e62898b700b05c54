"""Subscriptions by a regular expression, resolved beside the coordinator's thread, refreshed after ten seconds.

Source: `GroupMetadataManager.maybeUpdateRegularExpressions`, `refreshRegularExpressions`.
"""

from __future__ import annotations

from tests.conformance.basics import Topic
from tests.conformance.consumer.claims import claims
from tests.conformance.consumer.classic import subscription
from tests.conformance.consumer.member import Member
from tests.conformance.consumer.rounds import alone, swept
from tests.conformance.consumer.verbs import deleted, grow, made, until
from tests.conformance.script import Script

REFRESH_MS = 10_000


def all_of(s: Script) -> str:
    """A pattern that matches every topic of this play and none of others."""
    return f"{s.id}\\.t[a-z]*{s.nonce}"


async def resolved(s: Script, *topics: Topic) -> Member:
    """A member that subscribes by a pattern to these, which it owns."""
    a = await s.member("a")
    await a.enroll(names=None, regex=all_of(s), gives={})
    await until(s, epoch=2)
    await a.beat(now=2, gives={topic: [0] for topic in topics})
    return a


@claims("regex-resolved", "0-new-group-is-no-trigger")
async def a_pattern_is_resolved_after_the_join(s: Script) -> None:
    t, u = await s.topic("a"), await s.topic("b")
    a = await s.member("a")
    await a.enroll(names=None, regex=all_of(s), now=1, gives={})
    await until(s, epoch=2)
    await a.look()
    await a.beat(now=2, gives={t: [0], u: [0]})
    await a.look()
    await s.on_log()


@claims("regex-full-match")
async def a_pattern_has_to_match_the_whole_name(s: Script) -> None:
    t = await s.topic("a")
    a = await s.member("a")
    await a.enroll(names=None, regex=f"{s.id}\\.t", now=1, gives={})
    await s.sleep(500)
    await a.beat()
    await a.look()
    await s.sleep(REFRESH_MS)
    b = await s.member("b")
    await b.enroll(names=None, regex=f"^{s.id}\\.ta{s.nonce}$")
    await until(s, epoch=2)
    await b.beat(gives={t: [0]})
    await b.look()


@claims("regex-and-names")
async def names_beside_a_pattern(s: Script) -> None:
    t, u = await s.topic("a"), await s.topic("b")
    a = await s.member("a")
    await a.enroll(u, regex=f"{s.id}\\.ta{s.nonce}", now=2, gives={u: [0]})
    await until(s, epoch=3)
    await a.beat(now=3, gives={t: [0], u: [0]})
    await a.look()
    await s.on_log()


@claims("regex-known-text")
async def a_second_member_with_the_same_pattern(s: Script) -> None:
    t, u = await s.topic("a"), await s.topic("b")
    a = await resolved(s, t, u)
    b = await s.member("b")
    await b.enroll(names=None, regex=all_of(s), now=3)
    await swept(s, a, b)
    await a.look()
    await s.on_log()


@claims("regex-last-subscriber", "2.6-regex")
async def the_last_subscriber_of_a_pattern_leaves(s: Script) -> None:
    t, u = await s.topic("a"), await s.topic("b")
    a = await resolved(s, t, u)
    await a.retire(now=-1)
    await a.look()
    await s.on_log()


@claims("regex-changed")
async def a_pattern_is_changed(s: Script) -> None:
    t, u = await s.topic("a"), await s.topic("b")
    a = await resolved(s, t, u)
    await s.sleep(REFRESH_MS + 300)
    await a.beat(regex=f"{s.id}\\.ta{s.nonce}")
    await a.look()
    await until(s, epoch=3)
    await a.acknowledge()
    await a.beat()
    await a.look()
    await s.on_log()


@claims("regex-changed", "regex-not-before")
async def a_pattern_is_changed_too_soon(s: Script) -> None:
    t, u = await s.topic("a"), await s.topic("b")
    a = await resolved(s, t, u)
    since = a.mark
    await a.beat(regex=f"{s.id}\\.ta{s.nonce}")
    await a.acknowledge()
    await a.beat()
    await s.sleep(1_000)
    await a.look()
    s.within(REFRESH_MS - 1_000, since)
    await s.after(REFRESH_MS + 500, since)
    await a.beat()
    await s.sleep(600)
    await a.beat()
    await a.look()
    await s.on_log()


@claims("regex-taken-away")
async def a_pattern_is_taken_away(s: Script) -> None:
    t, u = await s.topic("a"), await s.topic("b")
    a = await resolved(s, t, u)
    await a.beat(regex="")
    await a.look()
    await a.acknowledge()
    await a.look()
    await s.on_log()


@claims("regex-taken-away")
async def names_in_the_place_of_a_pattern(s: Script) -> None:
    t, u = await s.topic("a"), await s.topic("b")
    a = await resolved(s, t, u)
    await a.beat(regex="", names=[t])
    await a.look()
    await a.acknowledge()
    await a.look()
    await s.on_log()


@claims("2.5-invalid-regex")
async def a_pattern_that_is_none_changes_nothing(s: Script) -> None:
    t, u = await s.topic("a"), await s.topic("b")
    a = await resolved(s, t, u)
    await a.beat(regex="(", error="INVALID_REGULAR_EXPRESSION")
    await a.beat(regex="[", names=[t], rack="r", error="INVALID_REGULAR_EXPRESSION")
    await a.look()
    await s.on_log()


@claims("2.5-invalid-regex")
async def a_pattern_is_checked_when_it_is_new(s: Script) -> None:
    a, _ = await alone(s)
    await a.beat(7, regex="(", error="FENCED_MEMBER_EPOCH")
    await a.beat(member="z", regex="(", error="UNKNOWN_MEMBER_ID")
    await a.beat(regex="(", error="INVALID_REGULAR_EXPRESSION")
    await a.beat(now=2)


@claims("regex-new-topic", "regex-refresh")
async def a_topic_appears_that_matches(s: Script) -> None:
    t = await s.topic("a")
    a = await resolved(s, t)
    since = a.mark
    u = await made(s, "b")
    await a.beat(now=2)
    await s.sleep(500)
    await a.beat(now=2)
    s.within(REFRESH_MS - 1_000, since)
    await s.after(REFRESH_MS + 500, since)
    await a.beat(now=2)
    await until(s, epoch=3)
    await a.beat(now=3, gives={t: [0], u: [0]})
    await a.look()
    await s.on_log()


@claims("regex-refresh")
async def nothing_new_after_the_interval(s: Script) -> None:
    t = await s.topic("a")
    a = await resolved(s, t)
    since = a.mark
    await s.after(REFRESH_MS + 500, since)
    await a.beat(now=2)
    await s.sleep(600)
    await a.beat(now=2)
    await a.look()


@claims("regex-growth", "2.5-metadata")
async def a_matched_topic_grows(s: Script) -> None:
    t = await s.topic("a")
    a = await resolved(s, t)
    await grow(s, t, 3)
    await a.beat(now=3, gives={t: [0, 1, 2]})
    await s.on_log()


@claims("regex-deleted", "2.5-metadata")
async def a_matched_topic_is_deleted(s: Script) -> None:
    t, u = await s.topic("a"), await s.topic("b")
    a = await resolved(s, t, u)
    await deleted(s, u)
    await a.beat()
    await a.acknowledge()
    await a.look()
    await s.on_log()


@claims("regex-none-matches")
async def a_pattern_that_matches_nothing(s: Script) -> None:
    a = await s.member("a")
    await a.enroll(names=None, regex=f"{s.id}nothing", now=1, gives={})
    await s.sleep(600)
    await a.beat()
    await a.look()
    await s.on_log()


@claims("regex-two")
async def two_members_with_two_patterns(s: Script) -> None:
    t, u = await s.topic("a", 2), await s.topic("b", 2)
    a, b = await s.member("a"), await s.member("b")
    await a.enroll(names=None, regex=f"{s.id}\\.ta{s.nonce}")
    await until(s, epoch=2)
    await a.beat(gives={t: [0, 1]})
    await s.sleep(REFRESH_MS + 300)
    await b.enroll(names=None, regex=f"{s.id}\\.tb{s.nonce}")
    await until(s, epoch=3)
    await b.beat(gives={u: [0, 1]})
    await a.beat()
    await a.look()
    await b.retire()
    await a.look()
    await s.on_log()


@claims("regex-v0", versions=(0,))
async def the_first_version_has_no_pattern(s: Script) -> None:
    a = await s.member("a")
    await a.enroll(v=0, names=None, regex="x", error="INVALID_REQUEST")


@claims("regex-offset-delete", "4.1-delete")
async def offsets_of_matched_topics_stay(s: Script) -> None:
    t = await s.topic("a")
    a = await resolved(s, t)
    await a.commit(offsets={t: {0: 5}}, generation=2)
    await a.delete_offsets({t: [0]}, error="GROUP_SUBSCRIBED_TO_TOPIC")
    await a.fetch(topics={t: [0]})


@claims("regex-classic", "3.1-bump")
async def a_member_with_a_pattern_becomes_classic(s: Script) -> None:
    t, u = await s.topic("a"), await s.topic("b")
    a = await resolved(s, t, u)
    m = await s.member("m", known_as="a")
    await m.join(protocols={"range": subscription(t)})
    await m.sync()
    await a.look()
    await s.on_log()


def _enter(first: str, second: str) -> None:
    @claims("7-range", hash_order=True, name=f"a-range-with-{second}-who-joins-after-{first}-was-resolved")
    async def play(s: Script) -> None:
        await s.topic("a", 2)
        one, other = await s.member(first), await s.member(second)
        await one.enroll(names=None, regex=all_of(s), assignor="range", now=2, gives={})
        await until(s, epoch=3)
        await other.enroll(names=None, regex=f"{s.id}-nothing")
        await one.look()
        await swept(s, one, other)
        await one.look()
        await s.on_log()


for _pair in ("bp", "pb", "bd", "db"):
    _enter(*_pair)


@claims("regex-and-names", hash_order=True)
async def a_member_joins_after_a_pattern_beside_names_was_resolved(s: Script) -> None:
    t, _ = await s.topic("a", 2), await s.topic("b", 3)
    b, a, c = await s.member("b"), await s.member("a"), await s.member("c")
    await b.enroll(t)
    await a.enroll(t)
    await b.beat(regex=f"{s.id}\\.tb{s.nonce}")
    await until(s, epoch=4)
    await b.look()
    await c.enroll(names=None, regex=f"{s.id}\\.ta{s.nonce}")
    await b.look()
    await swept(s, a, b, c)
    await b.look()
    await s.on_log()


@claims("regex-and-names", hash_order=True)
async def a_member_joins_after_one_with_a_pattern_has_left(s: Script) -> None:
    t, _ = await s.topic("a", 2), await s.topic("b", 3)
    b, a, c = await s.member("b"), await s.member("a"), await s.member("c")
    await b.enroll(t)
    await a.enroll(t)
    await b.beat(regex=f"{s.id}\\.tb{s.nonce}")
    await until(s, epoch=4)
    await b.retire()
    await c.enroll(names=None, regex=f"{s.id}\\.ta{s.nonce}")
    await until(s, epoch=6)
    await a.look()
    await s.on_log()


@claims("regex-order", "regex-two")
async def two_patterns_are_resolved_together(s: Script) -> None:
    a, b = await s.member("a"), await s.member("b")
    await a.enroll(names=None, regex="absent", gives={})
    since = a.mark
    await s.sleep(500)
    await b.enroll(names=None, regex="nothing", gives={})
    s.within(REFRESH_MS - 1_000, since)
    await s.after(REFRESH_MS + 1_000, since)
    await a.beat()
    await s.sleep(600)
    await a.beat()
    await s.on_log()
