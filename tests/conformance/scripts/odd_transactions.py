"""Producer ids and transactions asked for in ways that no producer of Kafka's does."""

from __future__ import annotations

from tests.conformance.bodies import Body
from tests.conformance.script import Script, script
from tests.conformance.scripts.transactions import Producer

PATTERNS = (
    "{0}",
    "{0}.*",
    "(?i){1}.*",
    "{0}\\.[a-z]\\+b",
    "{0}\\.\\w",
    "{0}\\.\\W",
    "{0}\\.\\p{{L}}",
    "{0}\\.\\pL",
    "{0}\\.\\P{{Lu}}",
    "{0}\\.[[:alpha:]]\\+b",
    "{0}\\.[^[:alpha:]]",
    "(?P<name>{0}).*",
    "(?<name>{0}).*",
    "\\Q{0}.a+b\\E",
    "{0}\\.a\\x2bb",
    "{0}\\.\\x{{fc}}",
    "{0}\\.\\07",
    "\\A{0}\\.a.b\\z",
    "^{0}\\.a.b$",
    "{0}\\.(?:a|ü).*?",
    "{0}\\.a{{1,2}}.+",
    "{0}\\.a{{,2}}.+",
    "{0}\\.[^\\d]",
    "\\b{0}\\b.*",
    "{0}(?s:.).*",
    "(?s){0}..*",
    "(?U){0}\\..*?",
    "{0}\\.a|{0}\\.ü",
    "{0}[a-z&&[^b]].*",
)
"""Patterns of transactional ids that RE2/J knows, some of which other dialects read otherwise."""
NO_PATTERNS = (
    "({0})\\.\\1",
    "(?={0}).*",
    "(?>{0}).*",
    "{0}.*+",
    "{0}(?#comment).*",
    "{0}\\..\\Z",
    "{0}\\.\\u00fc",
    "{0}\\.\\h",
    "(?x) {0}.*",
    "(",
    ")",
    "[",
    "[b-a]",
    "*",
    "a**",
    "a{{2}}{{3}}",
    "x{{2,1}}",
    "a{{1001}}",
    "\\",
    "\\8",
    "(?i",
    "(?z)",
    "\\p{{Nothing}}",
    "[[:nothing:]]",
)
"""What other dialects know, and what nobody does."""


@script(rows=["operator-transactions"])
async def patterns_of_transactional_ids(s: Script) -> None:
    a = await s.actor()
    begin = "begin" + "".join(one for one in s.group if one.isalnum())
    for name in (f"{begin}.a+b", f"{begin}.ü"):
        await Producer(s, a, name).init()
    for pattern in (*PATTERNS, *NO_PATTERNS):
        asked = pattern.format(begin, begin.upper())
        body: Body = {"state_filters": ["Empty"], "producer_id_filters": [], "duration_filter": -1}
        await a.post("ListTransactions", 2, {**body, "transactional_id_pattern": asked})
        told = await a.answer(error="INVALID_REGULAR_EXPRESSION" if pattern in NO_PATTERNS else "NONE")
        names = sorted(one["transactional_id"].removeprefix(begin) for one in told["transaction_states"])
        s.steps[-1].response = None
        s.note(pattern, [told["error_code"], names])


@script(rows=["operator-transactions"], versions=(0, 1, 2))
async def transactions_by_odd_filters(s: Script) -> None:
    a = await s.actor()
    producer = Producer(s, a, s.named(".tx"))
    await producer.init()

    async def look(states: list[str], pid: int, duration: int = -1) -> None:
        body: Body = {"state_filters": states, "producer_id_filters": [pid], "duration_filter": duration}
        await a.ask("ListTransactions", s.v, {**body, "transactional_id_pattern": ""})

    for states in ([], ["empty"], ["Empty", "Nothing", "Empty"], [""], ["Ongoing"]):
        await look(states, producer.pid)
    await look([], -5)
    for duration in (0, -2, 2**40) if s.v else ():
        await look([], producer.pid, duration)


@script(rows=["1.8-pending"], versions=(0, 1, 3))
async def partitions_that_cannot_be_in_a_transaction(s: Script) -> None:
    a, t, none = await s.actor(), await s.topic(partitions=2), s.no_topic()
    producer = Producer(s, a, s.named(".tx"))
    await producer.init()

    async def add(*of: tuple[str, list[int]], epoch: int = 0, name: str = producer.name, pid: int = 0) -> None:
        body: Body = {"v3_and_below_transactional_id": name, "v3_and_below_producer_id": pid or producer.pid}
        topics = [{"name": topic, "partitions": numbers} for topic, numbers in of]
        body |= {"v3_and_below_producer_epoch": epoch, "v3_and_below_topics": topics}
        await a.ask("AddPartitionsToTxn", s.v, body)

    await add(("__consumer_offsets", [0]))
    await add(("__transaction_state", [0]), (t.name, [0]), (none.name, [0]))
    await add((t.name, [0, 9]), (none.name, [0]))
    await add(("", [0]))
    await add((t.name, [0, 0, 1]), epoch=1)
    await add((t.name, [0]), epoch=-1)
    await add((t.name, [0]), pid=424_242)
    await add((t.name, [0]), name=s.named(".nobody"))
    await add((t.name, [0]), name="")
    await add((t.name, [0, 0, 1]))
    await producer.end(commit=False)


@script(rows=["1.8-pending"], versions=(0, 2, 4, 5))
async def producer_ids_of_odd_times(s: Script) -> None:
    a = await s.actor()

    async def init(name: str | None, timeout: int, error: str = "NONE", pid: int = -1, epoch: int = -1) -> Body:
        body: Body = {"transactional_id": name, "transaction_timeout": timeout}
        return await a.ask("InitProducerId", s.v, {**body, "producer_id": pid, "producer_epoch": epoch}, error=error)

    for number, timeout in enumerate((0, -1, 900_001, 2**31 - 1)):
        await init(s.named(f".{number}"), timeout, "INVALID_TRANSACTION_TIMEOUT")
        await init(None, timeout)
    await init("", 60_000, "INVALID_REQUEST")
    for timeout in (1, 900_000):
        await init(s.named(f".good{timeout}"), timeout)
    if s.v < 3:
        return
    for pid, epoch in ((5, -1), (-1, 0)):
        await init(s.named(".odd"), 60_000, "INVALID_REQUEST", pid, epoch)
        await init(None, 60_000, "INVALID_REQUEST", pid, epoch)
    await init(s.named(".unknown"), 60_000, "NONE", 424_242, 3)
    own = (await init(s.named(".own"), 60_000))["producer_id"]
    await init(s.named(".own"), 60_000, "PRODUCER_FENCED", own, 7)
    await init(s.named(".own"), 60_000, "NONE", own, 0)
    await init(s.named(".own"), 60_000, "NONE", own, 0)
    await init(s.named(".own"), 60_000, "PRODUCER_FENCED", own + 424_242, 0)


@script(rows=["1.8-verification"], versions=(3, 4))
async def offsets_of_odd_transactions(s: Script) -> None:
    a, t, none = await s.actor(), await s.topic(), s.no_topic()
    producer = Producer(s, a, s.named(".x"))
    await producer.init()
    not_in_it = "TRANSACTION_ABORTABLE" if s.v >= 4 else "INVALID_TXN_STATE"
    missing = "UNKNOWN_TOPIC_OR_PARTITION"

    async def as_other(name: str, pid: int, epoch: int, error: str) -> None:
        other = Producer(s, a, name, pid, epoch)
        await other.commit(s.v, {t: {0: 1}}, error=error)

    await producer.commit(s.v, {t: {0: 1}}, error=not_in_it)
    await producer.commit(s.v, {t: {0: 1}, none: {0: 1}}, error=f"{not_in_it} {missing}")
    await producer.commit(s.v, {none: {0: 1}}, error=missing)
    await producer.commit(s.v, {t: {0: 1}}, group="", error="INVALID_GROUP_ID")
    await as_other(producer.name, producer.pid, producer.epoch + 1, "INVALID_PRODUCER_EPOCH")
    await as_other(producer.name, 424_242, producer.epoch, "INVALID_PRODUCER_ID_MAPPING")
    await as_other(s.named(".nobody"), producer.pid, producer.epoch, "INVALID_PRODUCER_ID_MAPPING")
    await as_other("", producer.pid, producer.epoch, "INVALID_REQUEST")
    if s.v >= 3:
        await producer.commit(s.v, {t: {0: 1}}, member="m", generation=1, error=not_in_it)
    await a.describe(5)
    await producer.add_offsets()
    if s.v >= 3:
        error = "ILLEGAL_GENERATION"
        await producer.commit(s.v, {t: {0: 1}}, member="m", generation=1, error=error)
    await producer.commit(s.v, {t: {0: 1}})
    await as_other(s.named(".nobody"), producer.pid, producer.epoch, "NONE")
    await producer.end()
    await s.sleep(300)
    await producer.commit(s.v, {t: {0: 2}}, error=not_in_it)
    await a.fetch(8, {t: [0]})
