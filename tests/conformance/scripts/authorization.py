"""What a broker with an authorizer refuses (reference 1.2): Kafka's own `StandardAuthorizer`.

Who is not named by the ACLs of a resource may do nothing with it; resources without ACLs are everybody's
(`allow.everyone.if.no.acl.found`), so each script makes ACLs for what is its own.
"""

from __future__ import annotations

from tests.conformance.script import Actor, Script, script
from tests.conformance.scripts.transactions import Producer

ROWS = ["1.2-authorization"]
GROUP, TOPIC, TRANSACTIONAL_ID = 3, 2, 5
ALL, READ, DESCRIBE = 2, 3, 8
NO_GROUP, NO_TOPIC = "GROUP_AUTHORIZATION_FAILED", "TOPIC_AUTHORIZATION_FAILED"
NO_ID = "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"


async def allow(a: Actor, kind: int, name: str, operation: int = ALL, user: str = "somebody") -> None:
    """From now on this user may do that, and who has no ACL of this resource may do nothing with it."""
    acl = {"resource_type": kind, "resource_name": name, "resource_pattern_type": 3, "host": "*"}
    acl |= {"principal": f"User:{user}", "operation": operation, "permission_type": 3}
    await a.ask("CreateAcls", 3, {"creations": [acl]})


@script(rows=ROWS, kind="authorized")
async def a_group_that_is_somebody_elses(s: Script) -> None:
    a = await s.actor("a")
    t = await s.topic()
    await s.form(a)
    await allow(a, GROUP, s.group)
    await s.settle()
    await a.join(error=NO_GROUP)
    await a.sync(error=NO_GROUP)
    await a.heartbeat(error=NO_GROUP)
    await a.commit(offsets={t: {0: 1}}, error=NO_GROUP)
    await a.fetch(topics={t: [0]}, error=NO_GROUP)
    await a.fetch(v=1, topics={t: [0]}, error=NO_GROUP)
    await a.delete_offsets({t: [0]}, error=NO_GROUP)
    await a.describe(error=NO_GROUP)
    await a.delete(error=NO_GROUP)
    await a.find(error=NO_GROUP)
    await a.list()
    await a.leave(error=NO_GROUP)


@script(rows=ROWS, kind="authorized")
async def a_group_that_may_only_be_looked_at(s: Script) -> None:
    a = await s.actor("a")
    t = await s.topic()
    await s.form(a)
    await allow(a, GROUP, s.group, DESCRIBE, "ANONYMOUS")
    await s.settle()
    await a.describe(operations=True)
    await a.fetch(topics={t: [0]})
    await a.find()
    await a.list()
    await a.heartbeat(error=NO_GROUP)
    await a.delete(error=NO_GROUP)


@script(rows=ROWS, kind="authorized")
async def a_topic_that_is_somebody_elses(s: Script) -> None:
    a = await s.actor("a")
    mine, theirs = await s.topic(), await s.topic("theirs")
    await s.form(a)
    await a.commit(offsets={theirs: {0: 1}})
    await allow(a, TOPIC, theirs.name)
    await s.settle()
    await a.commit(offsets={mine: {0: 1}, theirs: {0: 1}}, error=NO_TOPIC)
    await a.fetch(topics={mine: [0], theirs: [0]}, error=NO_TOPIC)
    await a.fetch()
    await a.delete_offsets({mine: [0], theirs: [0]}, error=f"{NO_TOPIC} GROUP_SUBSCRIBED_TO_TOPIC")


@script(rows=ROWS, kind="authorized")
async def a_transactional_id_that_is_somebody_elses(s: Script) -> None:
    a = await s.actor("a")
    t = await s.topic()
    producer = Producer(s, a, s.named(".x"))
    await producer.init()
    await allow(a, TRANSACTIONAL_ID, producer.name)
    await s.settle()
    await producer.add_offsets(error=NO_ID)
    await producer.commit(3, {t: {0: 1}}, error=NO_ID)
    await producer.end(error=NO_ID)
    await a.find(keys=[producer.name], key_type=1, error=NO_ID)
    await producer.init(error=NO_ID)
