"""The topics of one member, in the order of Kafka's sets."""

from __future__ import annotations

from attrs import frozen
from hypothesis import given
from hypothesis import strategies as st

from groupsim.coordinator.base.consumer_records import ResolvedRegex
from groupsim.coordinator.base.interfaces import TopicView
from groupsim.coordinator.consumer.assignment.subscriptions import subscribed_ids
from groupsim.coordinator.consumer.member import ConsumerMember
from groupsim.protocol.javahash import java_copied_order

NAMES = [f"topic-{number}" for number in range(300)]


@frozen
class Image:
    """Topics whose ids are their names."""

    existing: frozenset[str]
    version: int = 0
    created_version: int = 0

    def topic(self, name: str) -> TopicView | None:
        return TopicView(name, name, 1) if name in self.existing else None

    def topic_by_id(self, topic_id: str) -> TopicView | None:
        return self.topic(topic_id)

    def names(self) -> tuple[str, ...]:
        return tuple(self.existing)


SETS = st.sets(st.sampled_from(NAMES), max_size=200).map(sorted)


@given(SETS, SETS, st.sets(st.sampled_from(NAMES)))
def test_topics_come_in_the_order_of_the_sets_of_all_names(
    names: list[str], matched: list[str], existing: set[str]
) -> None:
    """The larger set is first, in the order of a set with the names that do not exist as well."""
    member = ConsumerMember("m", names=tuple(names), regex="r")
    sets = [java_copied_order(names), java_copied_order(matched)]
    first, second = sets if len(names) > len(matched) else reversed(sets)
    expected = [name for name in dict.fromkeys([*first, *second]) if name in existing]
    resolved = {"r": ResolvedRegex(tuple(matched), 1, 1)}
    assert list(subscribed_ids(member, resolved, Image(frozenset(existing)))) == expected
