"""OffsetCommit (reference 1.7)."""

from __future__ import annotations

from tests.conformance.script import Script, script

BY_NAME = (2, 3, 4, 5, 6, 7, 8, 9)
ALL = (*BY_NAME, 10)
SHAPES = (2, 5, 7, 9, 10)


@script(
    rows=[
        "1.7-commit-to-an-unknown-group-makes-a-simple-one",
        "1.10-list-shows-simple-groups",
        "1.7-what-a-commit-stores",
    ],
    versions=ALL,
)
async def a_simple_group_commits(s: Script) -> None:
    a = await s.actor()
    t = await s.topic(partitions=2)
    await a.commit(v=s.v, offsets={t: {0: 5, 1: 7}})
    await a.fetch(v=min(s.v, 9), topics={t: [0, 1]})
    await a.describe()
    await a.list()
    await a.commit(v=s.v, offsets={t: {0: 3}})
    await a.fetch(v=min(s.v, 9), topics={t: [0, 1]})


@script(rows=["1.7-no-group-{v10,v9,v8,v2}"], versions=ALL)
async def a_generation_without_a_group(s: Script) -> None:
    a = await s.actor()
    t = await s.topic()
    error = "GROUP_ID_NOT_FOUND" if s.v >= 9 else "ILLEGAL_GENERATION"
    await a.commit(v=s.v, offsets={t: {0: 5}}, generation=3, error=error)
    await a.commit(v=s.v, offsets={t: {0: 5}}, generation=0, member="x", error=error)
    await a.describe(v=5)


@script(
    rows=[
        "1.7-{topic-unknown,partition-unknown,partition-negative}",
        "trap-13-commit-for-unknown-topics-only",
        "1.7-commit-of-nothing-but-unknown-topics-is-not-checked",
    ],
    versions=BY_NAME,
)
async def a_topic_that_is_not_there(s: Script) -> None:
    a = await s.actor()
    t, none = await s.topic(partitions=2), s.no_topic()
    await a.commit(v=s.v, offsets={none: {0: 5}, t: {1: 1, 2: 2, -1: 3}}, error="UNKNOWN_TOPIC_OR_PARTITION")
    await a.fetch(topics={t: [0, 1, 2]})
    await s.form(a)
    await a.commit(v=s.v, offsets={none: {0: 5}}, member="stranger", generation=9, error="UNKNOWN_TOPIC_OR_PARTITION")


@script(rows=["1.7-topic-ids", "1.7-topic-unknown"], versions=(10,))
async def a_topic_id_that_is_not_there(s: Script) -> None:
    a = await s.actor()
    t, none = await s.topic(partitions=2), s.no_topic()
    await a.commit(v=s.v, offsets={none: {0: 5}, t: {1: 1}}, error="UNKNOWN_TOPIC_ID")
    await a.commit(v=s.v, offsets={t: {1: 1, 7: 1}}, error="UNKNOWN_TOPIC_OR_PARTITION")
    await a.fetch(topics={t: [0, 1]})


@script(
    rows=[
        "1.7-Stable-valid",
        "1.7-{unknown-id,generation-without-id,unknown-id-no-generation,member-no-generation,old-generation,anonymous-to-a-live-group}",
    ],
    versions=ALL,
)
async def commits_in_stable(s: Script) -> None:
    a = await s.actor()
    t = await s.topic()
    await s.form(a)
    await a.commit(v=s.v, offsets={t: {0: 5}})
    await a.commit(v=s.v, offsets={t: {0: 6}}, generation=0, error="ILLEGAL_GENERATION")
    await a.commit(v=s.v, offsets={t: {0: 6}}, generation=-1, error="ILLEGAL_GENERATION")
    await a.commit(v=s.v, offsets={t: {0: 6}}, member="x", error="UNKNOWN_MEMBER_ID")
    await a.commit(v=s.v, offsets={t: {0: 6}}, member="x", generation=9, error="UNKNOWN_MEMBER_ID")
    await a.commit(v=s.v, offsets={t: {0: 6}}, member="", error="UNKNOWN_MEMBER_ID")
    await a.commit(v=s.v, offsets={t: {0: 6}}, member="", generation=-1, error="UNKNOWN_MEMBER_ID")
    await a.fetch(topics={t: [0]})


@script(rows=["1.7-Completing-valid", "1.7-{old-generation,unknown-id,anonymous-to-a-live-group}"], versions=ALL)
async def commits_in_completing(s: Script) -> None:
    a = await s.actor()
    t = await s.topic()
    await s.complete(a)
    await a.commit(v=s.v, offsets={t: {0: 5}}, error="REBALANCE_IN_PROGRESS")
    await a.commit(v=s.v, offsets={t: {0: 5}}, generation=0, error="ILLEGAL_GENERATION")
    await a.commit(v=s.v, offsets={t: {0: 5}}, member="x", error="UNKNOWN_MEMBER_ID")
    await a.commit(v=s.v, offsets={t: {0: 5}}, member="", generation=-1, error="UNKNOWN_MEMBER_ID")
    await a.fetch(topics={t: [0]})


@script(
    rows=["1.7-Preparing-valid", "1.7-{newer-generation,member-no-generation,anonymous-to-a-live-group}"], versions=ALL
)
async def commits_in_preparing(s: Script) -> None:
    a, b = await s.pair()
    t = await s.topic()
    watch = await s.actor("watch")
    await s.form(a)
    await s.gather(b, before=1)
    await a.commit(v=s.v, offsets={t: {0: 5}})
    await a.commit(v=s.v, offsets={t: {0: 6}}, generation=2, error="ILLEGAL_GENERATION")
    await watch.commit(v=s.v, offsets={t: {0: 6}}, member=b.member_id, generation=-1, error="ILLEGAL_GENERATION")
    await watch.commit(v=s.v, offsets={t: {0: 7}}, member=b.member_id, generation=1)
    await watch.commit(v=s.v, offsets={t: {0: 6}}, error="UNKNOWN_MEMBER_ID")
    await a.fetch(topics={t: [0]})


@script(rows=["1.7-Empty-{anonymous,member-ignored}", "1.7-commit-with-a-generation-to-an-empty-group"], versions=ALL)
async def commits_in_empty(s: Script) -> None:
    a = await s.actor()
    t = await s.topic()
    await s.emptied(a)
    await a.commit(v=s.v, offsets={t: {0: 5}}, error="UNKNOWN_MEMBER_ID")
    await a.commit(v=s.v, offsets={t: {0: 5}}, member="x", generation=-1)
    await a.commit(v=s.v, offsets={t: {0: 6}}, member="", generation=2, error="UNKNOWN_MEMBER_ID")
    await a.commit(v=s.v, offsets={t: {0: 7}}, member="", generation=-1)
    await a.fetch(topics={t: [0]})


@script(rows=["1.7-pending-id", "2.7-pending-id-is-no-member"], versions=SHAPES)
async def a_pending_id_commits(s: Script) -> None:
    a, b = await s.pair()
    t = await s.topic()
    await s.form(a)
    await b.join(error="MEMBER_ID_REQUIRED")
    await b.commit(v=s.v, offsets={t: {0: 5}}, generation=1, error="UNKNOWN_MEMBER_ID")


@script(rows=["1.7-{fenced,instance-unmapped,instance-alone,newer-generation}"], versions=(7, 8, 9, 10))
async def instances_commit(s: Script) -> None:
    a = await s.actor("a", instance="i")
    t = await s.topic()
    await s.form(a)
    await a.commit(v=s.v, offsets={t: {0: 5}})
    await a.commit(v=s.v, offsets={t: {0: 6}}, member="another", error="FENCED_INSTANCE_ID")
    await a.commit(v=s.v, offsets={t: {0: 6}}, instance="j", error="UNKNOWN_MEMBER_ID")
    await a.commit(v=s.v, offsets={t: {0: 6}}, generation=7, error="ILLEGAL_GENERATION")
    await a.commit(v=s.v, offsets={t: {0: 6}}, member="", generation=-1, error="FENCED_INSTANCE_ID")
    await a.fetch(topics={t: [0]})


@script(rows=["1.7-metadata-{at-limit,too-large}"], versions=ALL)
async def metadata_of_a_commit(s: Script) -> None:
    a = await s.actor()
    t = await s.topic(partitions=3)
    await a.commit(v=s.v, offsets={t: {0: 1}}, metadata="x" * 4096)
    await a.commit(v=s.v, offsets={t: {1: 1}}, metadata="x" * 4097, error="OFFSET_METADATA_TOO_LARGE")
    await a.commit(v=s.v, offsets={t: {2: 1}}, metadata=None)
    answer = await a.fetch(topics={t: [1, 2]})
    assert answer


@script(rows=["1.7-metadata-{units-not-bytes,surrogates-at-limit,surrogates}"], versions=(9,))
async def metadata_is_counted_in_utf_16(s: Script) -> None:
    a = await s.actor()
    t = await s.topic(partitions=2)
    await a.commit(v=s.v, offsets={t: {0: 1}}, metadata="é" * 4096)
    await a.commit(v=s.v, offsets={t: {1: 1}}, metadata="🐘" * 2049, error="OFFSET_METADATA_TOO_LARGE")
    await a.commit(v=s.v, offsets={t: {1: 1}}, metadata="🐘" * 2048)


@script(rows=["1.7-what-a-commit-stores"], versions=(5, 6, 7, 9, 10))
async def leader_epochs_are_stored(s: Script) -> None:
    a = await s.actor()
    t = await s.topic(partitions=2)
    await a.commit(v=s.v, offsets={t: {0: 1, 1: 2}}, leader_epoch=4, metadata="m")
    await a.fetch(v=5, topics={t: [0, 1]})
    await a.fetch(v=4, topics={t: [0, 1]})


@script(rows=["1.2-empty-group-id-can-commit", "1.2-empty-group-id-OffsetFetch"], versions=SHAPES)
async def the_group_without_a_name(s: Script) -> None:
    a = await s.actor()
    t = await s.topic()
    await a.commit(v=s.v, offsets={t: {0: 5}}, group="")
    await a.fetch(topics={t: [0]}, groups=[""])


@script(rows=["1.7-commit-of-nothing-but-unknown-topics-is-not-checked"], versions=SHAPES)
async def a_commit_of_nothing(s: Script) -> None:
    a = await s.actor()
    t = await s.topic()
    await a.commit(v=s.v, offsets={})
    await a.commit(v=s.v, offsets={}, generation=9, member="x")
    await a.commit(v=s.v, offsets={t: {}})
    await a.describe(v=5)


@script(rows=["1.7-Empty-instance-ignored"], versions=(7, 9, 10))
async def an_instance_commits_to_an_empty_group(s: Script) -> None:
    a = await s.actor("a", instance="i")
    t = await s.topic()
    await s.emptied(a)
    await a.commit(v=s.v, offsets={t: {0: 5}}, member="", generation=-1)
    await a.commit(v=s.v, offsets={t: {0: 6}}, generation=-1)
    await a.fetch(topics={t: [0]})


@script(rows=["2.12-topic-deleted-Empty", "1.9-topic-ids"])
async def a_topic_is_deleted_and_made_again(s: Script) -> None:
    a = await s.actor()
    t = await s.topic()
    await a.commit(offsets={t: {0: 5}})
    await a.fetch(topics={t: [0]})
    await s.delete_topic(t)
    await s.sleep(500)
    await a.fetch(topics={t: [0]})
    await a.fetch(v=9)


@script(rows=["1.7-retention-{v2,v4}"], versions=(2, 3, 4))
async def a_commit_with_a_retention(s: Script) -> None:
    a = await s.actor()
    t = await s.topic()
    await a.commit(v=s.v, offsets={t: {0: 5}}, retention=3_600_000)
    await a.fetch(topics={t: [0]})
