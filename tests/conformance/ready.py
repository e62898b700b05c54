"""Wait until a broker answers for every group and transaction: internal topics made, coordinators loaded."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial

import trio

from tests.conformance.bodies import Body, decode, encode
from tests.conformance.peers import Address, Line, tcp_peer

_GROUPS = [f"ready-{number}" for number in range(40)]
_SECONDS = 60
_ALONE = frozenset({"NONE"})
_ONE_OF_SEVERAL = frozenset({"NONE", "NOT_COORDINATOR"})


async def await_ready(addresses: Sequence[Address]) -> None:
    """Return when every node's coordinators answer. Raises TimeoutError after a minute."""
    good = _ALONE if len(addresses) == 1 else _ONE_OF_SEVERAL
    last: object = None
    with trio.move_on_after(_SECONDS):
        async with tcp_peer(addresses) as peer:
            for node in range(len(addresses)):
                line = await peer.connect("ready", node)
                while (last := await _not_ready(partial(_ask, line), good)) is not None:
                    await trio.sleep(0.1)
            return
    raise TimeoutError(f"the broker at {addresses[0]} is not ready after {_SECONDS} s: {last}")


async def _ask(line: Line, api: str, version: int, body: Body) -> Body:
    await line.send(encode(api, version, 1, "ready", body))
    got = await line.receive(_SECONDS * 1_000_000)
    if got is None:
        raise TimeoutError(f"{api} was not answered in {_SECONDS} s")
    return decode(api, version, got[0])[1]


async def _not_ready(ask: Callable[[str, int, Body], Awaitable[Body]], good: frozenset[str]) -> object:
    """What is not as it should be; None when all is. `good`: what groups and transactions may be answered."""
    find = await ask("FindCoordinator", 4, {"key_type": 0, "coordinator_keys": _GROUPS})
    wrong = [told for told in find["coordinators"] if told["error_code"] != "NONE"]
    if wrong:
        return wrong[0]
    body = {"groups": _GROUPS, "include_authorized_operations": False}
    described = await ask("DescribeGroups", 5, body)
    wrong = [told for told in described["groups"] if told["error_code"] not in good]
    if wrong:
        return wrong[0]
    for number in range(8):
        named = {"key_type": 1, "coordinator_keys": [f"ready-{number}"]}
        await ask("FindCoordinator", 4, named)
        body = {"transactional_id": f"ready-{number}", "transaction_timeout": 10_000, "producer_id": -1}
        body |= {"producer_epoch": -1}
        made = await ask("InitProducerId", 4, body)
        if made["error_code"] not in good:
            return made
    return None
