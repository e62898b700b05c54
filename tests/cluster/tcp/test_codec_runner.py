"""Decoding and encoding of the messages of one connection, at once or in a thread."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import pytest

from groupsim.cluster.tcp.codec_runner import MAX_ELEMENTS, CodecRunner
from groupsim.protocol.basics import Api
from groupsim.protocol.messages.group import DescribedGroup, DescribeGroupsResponse
from groupsim.protocol.wire import Codec, Understood, Unreadable

SHORT, LONG = 3, MAX_ELEMENTS + 1


class Beside:
    """A loop and a host on it: the test decides when a computation in a thread is done."""

    def __init__(self) -> None:
        self.under_way: list[tuple[Callable[[], Any], Callable[[Any], None]]] = []

    def aside(self, compute: Callable[[], Any], done: Callable[[Any], None]) -> None:
        self.under_way.append((compute, done))

    def deliver(self, callback: Callable[[Any], None], arg: Any) -> None:
        callback(arg)

    def finish(self) -> None:
        """End the oldest computation and deliver its result."""
        compute, done = self.under_way.pop(0)
        result: Any
        try:
            result = compute()
        except Exception as error:
            result = error
        done(result)


def _runner() -> tuple[CodecRunner, Beside]:
    beside = Beside()
    return CodecRunner(beside, beside, Codec("4.x", None)), beside  # type: ignore[arg-type]


def _frame(groups: int) -> bytes:
    """A DescribeGroups of so many groups."""
    names = (f"g{number}".encode() for number in range(groups))
    body = b"".join(struct.pack(">h", len(name)) + name for name in names)
    return struct.pack(">hhih", Api.DESCRIBE_GROUPS, 0, 7, -1) + struct.pack(">i", groups) + body


@pytest.mark.parametrize(("groups", "beside_the_loop"), [(SHORT, False), (LONG, True)])
def test_a_long_message_is_decoded_and_encoded_in_a_thread(groups: int, beside_the_loop: bool) -> None:
    """A short message is decoded and encoded at once, with the same results."""
    runner, beside = _runner()
    decoded: list[Any] = []
    runner.read(_frame(groups), decoded.append)
    assert (runner.at_work, decoded == []) == (beside_the_loop, beside_the_loop)
    if beside_the_loop:
        beside.finish()
    (understood,) = decoded
    assert isinstance(understood, Understood)
    names = [name for request in understood.exchange.requests for name in request.groups]  # type: ignore[union-attr]
    assert names == [f"g{number}" for number in range(groups)]
    requests = understood.exchange.requests
    answers = [DescribeGroupsResponse(tuple(DescribedGroup(n) for n in one.groups)) for one in requests]  # type: ignore[union-attr]
    written: list[Any] = []
    runner.write(understood.exchange, answers, lambda exchange, data: written.append(data))
    assert (runner.at_work, written == []) == (beside_the_loop, beside_the_loop)
    if beside_the_loop:
        beside.finish()
    assert not runner.at_work
    assert written == [understood.exchange.response(answers)]


def test_the_result_of_a_dropped_message_is_ignored() -> None:
    """After a drop the result of the old message is not taken for the result of the next one."""
    runner, beside = _runner()
    first: list[Any] = []
    second: list[Any] = []
    runner.read(_frame(LONG), first.append)
    runner.drop()
    assert not runner.at_work
    runner.read(_frame(LONG + 1), second.append)
    beside.finish()
    assert runner.at_work
    beside.finish()
    assert (first, len(second)) == ([], 1)


def test_an_invalid_long_message_is_reported_like_a_short_one() -> None:
    """Bytes that are no message are Unreadable, whether decoded at once or in a thread."""
    for groups in (SHORT, LONG):
        runner, beside = _runner()
        decoded: list[Any] = []
        runner.read(_frame(groups)[:-1], decoded.append)
        if runner.at_work:
            beside.finish()
        assert [type(one) for one in decoded] == [Unreadable]
        assert not runner.at_work
