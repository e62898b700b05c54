"""Plays on the core, in virtual time, what was walked on the real broker."""

from __future__ import annotations

from collections.abc import Mapping

from groupsim.eventloop.virtual import VirtualLoop, run_virtual
from tests.conformance.core import CorePeer
from tests.conformance.walking import Walked, begin, found, later, settings_of, the_same, walk

PARTS = (0.0, 0.3, 0.6, 1.0)


def on_core(name: str, statics: Mapping[str, str], real: Walked, part: float = 0) -> Walked:
    """Play a walk in virtual time, with the ids and at the times of the real play; `part`: see `walking.later`."""

    async def main(loop: VirtualLoop) -> Walked:
        peer = CorePeer(loop, real.transcript, settings_of(name))
        return await walk(begin(name, peer, statics), the_same(real.moves), None, later(real, part))

    return run_virtual(main)


def differences_on_core(name: str, statics: Mapping[str, str], real: Walked) -> list[str]:
    """What the core says otherwise.

    When the broker did what it was asked is known to lie between request and answer: one of four times has to fit.
    """
    lines: list[str] = []
    for part in PARTS:
        other = found(real, on_core(name, statics, real, part))
        if not other:
            return []
        lines = lines or other
    return lines
