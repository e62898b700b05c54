"""The hash function XXH3, against values of hash4j 0.22.0."""

from __future__ import annotations

import pytest

from groupsim.protocol.xxh3 import xxh3_64

VALUES = {
    0: 3244421341483603138,
    1: 1433843135270481901,
    3: -6266602912829716452,
    4: 7895465118229274323,
    8: 6941064856527638883,
    9: -72226354546400344,
    16: -5131753158909839995,
    17: 8163341949877205007,
    128: 7440608504995537343,
    129: -4150982730466284604,
    240: 7229805477010515663,
    241: -8364630114420064745,
    500: -5135160933809773974,
    1_024: -7241394453710343503,
    1_025: -9192937061388044938,
    5_000: 8762507191635236893,
}
"""The length of the input, whose byte i is 7 i + 3, and its hash as a signed number."""


@pytest.mark.parametrize(("length", "value"), VALUES.items())
def test_inputs_of_every_length_class_hash_as_in_hash4j(length: int, value: int) -> None:
    """The five ways of hashing meet at 16, 128 and 240 bytes; a block is 1024 bytes long."""
    assert xxh3_64(bytes((7 * one + 3) % 256 for one in range(length))) == value % 2**64
