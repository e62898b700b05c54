"""Broken bytes of producers, consumers and administrators: unreadable, and nothing else."""

from __future__ import annotations

import random

import pytest

from groupsim.protocol.basics import Api
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.wire import Unreadable
from tests.helpers.data_samples import CASES, EVERY, title
from tests.helpers.wire_samples import codec

SEED = 20_261_122


@pytest.mark.parametrize(("api", "version"), EVERY, ids=title)
def test_a_request_that_ends_too_soon_is_unreadable(api: Api, version: int) -> None:
    """Cut at any byte, it raises Unreadable and nothing else."""
    data = CASES[api][0](version)
    broker = codec()
    for end in range(len(data)):
        with pytest.raises(Unreadable):
            broker.understand(data[:end])


@pytest.mark.parametrize(("api", "version"), EVERY, ids=title)
def test_changed_bytes_are_read_or_unreadable(api: Api, version: int) -> None:
    """Some bytes behind the header made random: a request, or Unreadable; what is read can be refused."""
    data = CASES[api][0](version)
    chance = random.Random(f"{SEED}-{api}-{version}")
    broker = codec()
    for _ in range(100):
        made = bytearray(data)
        for _ in range(chance.randint(1, 8)):
            made[chance.randrange(8, len(made))] = chance.choice((0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)))
        try:
            exchange = broker.understand(bytes(made)).exchange
        except Unreadable:
            continue
        assert exchange.refusal(ErrorCode.REQUEST_TIMED_OUT)[:4] == bytes(made[4:8])
