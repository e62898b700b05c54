"""What reads and writes the messages of one connection, on the spot or beside the loop."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import pytest

from groupsim.cluster.tcp.codec_runner import MOST_ELEMENTS, Clerk
from groupsim.protocol.basics import Api
from groupsim.protocol.messages.group import DescribedGroup, DescribeGroupsResponse
from groupsim.protocol.wire import Codec, Understood, Unreadable

SHORT, LONG = 3, MOST_ELEMENTS + 1


class Beside:
    """A loop, and a host on it: what is computed aside is done when the test says so."""

    def __init__(self) -> None:
        self.under_way: list[tuple[Callable[[], Any], Callable[[Any], None]]] = []

    def aside(self, compute: Callable[[], Any], done: Callable[[Any], None]) -> None:
        self.under_way.append((compute, done))

    def deliver(self, callback: Callable[[Any], None], arg: Any) -> None:
        callback(arg)

    def finish(self) -> None:
        """The oldest computation is done, and told."""
        compute, done = self.under_way.pop(0)
        result: Any
        try:
            result = compute()
        except Exception as error:
            result = error
        done(result)


def _clerk() -> tuple[Clerk, Beside]:
    beside = Beside()
    return Clerk(beside, beside, Codec("4.x", None)), beside  # type: ignore[arg-type]


def _frame(groups: int) -> bytes:
    """A DescribeGroups of so many groups."""
    names = (f"g{number}".encode() for number in range(groups))
    body = b"".join(struct.pack(">h", len(name)) + name for name in names)
    return struct.pack(">hhih", Api.DESCRIBE_GROUPS, 0, 7, -1) + struct.pack(">i", groups) + body


@pytest.mark.parametrize(("groups", "beside_the_loop"), [(SHORT, False), (LONG, True)])
def test_a_long_message_is_read_and_answered_beside_the_loop(groups: int, beside_the_loop: bool) -> None:
    """A short one on the spot: what is told is the same."""
    clerk, beside = _clerk()
    told: list[Any] = []
    clerk.read(_frame(groups), told.append)
    assert (clerk.at_work, told == []) == (beside_the_loop, beside_the_loop)
    if beside_the_loop:
        beside.finish()
    (understood,) = told
    assert isinstance(understood, Understood)
    names = [name for request in understood.exchange.requests for name in request.groups]  # type: ignore[union-attr]
    assert names == [f"g{number}" for number in range(groups)]
    requests = understood.exchange.requests
    answers = [DescribeGroupsResponse(tuple(DescribedGroup(n) for n in one.groups)) for one in requests]  # type: ignore[union-attr]
    written: list[Any] = []
    clerk.write(understood.exchange, answers, lambda exchange, data: written.append(data))
    assert (clerk.at_work, written == []) == (beside_the_loop, beside_the_loop)
    if beside_the_loop:
        beside.finish()
    assert not clerk.at_work
    assert written == [understood.exchange.response(answers)]


def test_what_nobody_waits_for_any_more_is_not_told() -> None:
    """The connection fell silent meanwhile: what comes of the old message is not taken for the next one's."""
    clerk, beside = _clerk()
    first: list[Any] = []
    second: list[Any] = []
    clerk.read(_frame(LONG), first.append)
    clerk.drop()
    assert not clerk.at_work
    clerk.read(_frame(LONG + 1), second.append)
    beside.finish()
    assert clerk.at_work
    beside.finish()
    assert (first, len(second)) == ([], 1)


def test_what_is_wrong_with_a_long_message_is_told_as_with_a_short_one() -> None:
    """Bytes that are no message are told as such, wherever that is found."""
    for groups in (SHORT, LONG):
        clerk, beside = _clerk()
        told: list[Any] = []
        clerk.read(_frame(groups)[:-1], told.append)
        if clerk.at_work:
            beside.finish()
        assert [type(one) for one in told] == [Unreadable]
        assert not clerk.at_work
