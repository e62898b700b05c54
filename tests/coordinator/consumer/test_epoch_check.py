"""The member epoch of a heartbeat, against the epoch and the previous epoch of the member."""

from __future__ import annotations

import pytest

from groupsim.coordinator.base.versions import differences
from groupsim.coordinator.consumer.assignment.reconciliation import Owned
from groupsim.coordinator.consumer.epoch_check import check_epoch
from groupsim.coordinator.consumer.member import ConsumerMember
from groupsim.coordinator.consumer.refused import Refused
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.consumer_group import TopicPartitions

MEMBER = ConsumerMember("m", member_epoch=7, previous_epoch=5, assigned={"A": {0: 5, 1: 7}}, pending={"A": {2: 5}})


def owned(*numbers: int, topic: str = "A") -> Owned:
    """Return a report of these partitions."""
    return (TopicPartitions(topic, numbers),)


ROWS: list[tuple[int, Owned, str | None]] = [
    (0, (), None),
    (7, None, None),
    (7, owned(9), None),
    (8, None, "greater"),
    (5, owned(0, 1), None),
    (5, owned(0), None),
    (5, (), None),
    (5, None, "smaller"),
    (5, owned(0, 2), "smaller"),
    (5, owned(0, topic="B"), "smaller"),
    (6, owned(0), "smaller"),
    (4, owned(0), "smaller"),
]


@pytest.mark.parametrize(("received", "report", "refused"), ROWS)
def test_an_epoch_is_accepted_or_fenced(received: int, report: Owned, refused: str | None) -> None:
    """Epoch 0 and the member's own pass; the previous one with assigned partitions only, none of them pending."""
    if refused is None:
        check_epoch(MEMBER, received, report, differences())
        return
    with pytest.raises(Refused, match=f"has a {refused} member epoch \\({received}\\).* coordinator \\(7\\)") as caught:
        check_epoch(MEMBER, received, report, differences())
    assert caught.value.error is ErrorCode.FENCED_MEMBER_EPOCH


def test_before_4_2_a_known_member_cannot_rejoin() -> None:
    """Epoch 0 is a smaller epoch like any other, unless it is the previous one (KAFKA-19233)."""
    with pytest.raises(Refused, match="smaller member epoch"):
        check_epoch(MEMBER, 0, (), differences("4.1"))
    check_epoch(ConsumerMember("m", member_epoch=1, previous_epoch=0), 0, (), differences("4.1"))


def test_every_epoch_is_greater_than_that_of_an_absent_static_member() -> None:
    """After epoch -2 a process that is still there is fenced."""
    with pytest.raises(Refused, match="greater"):
        check_epoch(ConsumerMember("m", member_epoch=-2, previous_epoch=6), 7, None, differences())
