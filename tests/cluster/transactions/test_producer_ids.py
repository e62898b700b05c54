"""Producer ids: the time of a broker's first block."""

from __future__ import annotations

import pytest

from groupsim.cluster.transactions.interfaces import NoProducerId
from groupsim.cluster.transactions.producer_ids import ProducerIdBlocks, ProducerIds


def test_the_first_block_of_producer_ids_takes_its_time() -> None:
    """Until 50 ms after the first request there is no id, from then on there always is (RPCProducerIdManager)."""
    now = [7_000]
    ids = ProducerIds(ProducerIdBlocks(), lambda: now[0], 50_000)
    for now[0] in (7_000, 30_000, 56_999):
        with pytest.raises(NoProducerId):
            ids.fresh()
    now[0] = 57_000
    assert [ids.fresh() for _ in range(2_000)] == list(range(2_000))


def test_in_virtual_time_the_first_block_is_there_at_once() -> None:
    """A cluster that is not served has its first block of producer ids without a wait."""
    assert ProducerIds(ProducerIdBlocks(3_000)).fresh() == 3_000
