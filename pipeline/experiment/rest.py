"""What is left of an experiment's file when what is wrong is taken out, so that one report shows all its mistakes.

Only whole axes, changes and sections are taken out: nothing changes its place, and no list its numbers. Where axes go,
so does what names them.
"""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from groupsim.scenarios.language.document import Document, Path_

_NAMES_AXES = ("skip", "baseline", "given")


def without(document: Document, wrong: Iterable[Path_]) -> Document | None:
    """The document without what stands at these paths; None where nothing would be left to judge."""
    data = dict(document.data)
    for path in wrong:
        if not path or path[0] == "scenario" or path[0] not in document.data:
            return None
        top, below = path[0], path[1:2]
        held = data.get(top)
        if top in ("vary", "set") and below and isinstance(held, dict):
            data[top] = {name: value for name, value in held.items() if name != below[0]}
        else:
            data.pop(top, None)
        if top == "vary":
            data = {name: value for name, value in data.items() if name not in _NAMES_AXES}
    if data == document.data or not data.get("vary"):
        return None
    return attrs.evolve(document, data=data)
