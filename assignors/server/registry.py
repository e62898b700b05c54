"""The assignors that a broker loads at its start: `uniform`, `range`, or a user's own as `module:Class`.

Kafka's built-in ones are known by name and by their Java class. The first of the list is the default of groups whose
members prefer none.

Source: `GroupCoordinatorConfig.consumerGroupAssignors`.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

from groupsim.assignors.base.error_location import source_of, user_frame
from groupsim.assignors.base.errors import AssignorError
from groupsim.assignors.base.loading import load_object
from groupsim.assignors.server.interface import ServerAssignor
from groupsim.assignors.server.range import ServerRange
from groupsim.assignors.server.uniform import ServerUniform

JAVA_PACKAGE = "org.apache.kafka.coordinator.group.assignor."
BUILT_IN: dict[str, type[ServerAssignor]] = {"uniform": ServerUniform, "range": ServerRange}
"""Kafka's own, in the order of the default list."""
_JAVA_CLASSES = {f"{JAVA_PACKAGE}{name.capitalize()}Assignor": kind for name, kind in BUILT_IN.items()}


def server_assignors(names: Sequence[str], folder: Path | None = None) -> tuple[ServerAssignor, ...]:
    """Return new assignors for a broker's list. `module:Class` is searched in `folder` and then on Python's path.

    Raises AssignorError: an unknown name, a class that is no assignor of a broker, two assignors of one name.
    """
    found: dict[str, ServerAssignor] = {}
    for written in names:
        assignor = _resolve(written, folder)
        if assignor.name in found:
            text = f"Assignor name '{assignor.name}' is already registered by another configured assignor."
            unique = "Assignor names, whether built-in or custom, must be unique"
            raise AssignorError(written, f"{text} {unique}", source_of(type(assignor)))
        found[assignor.name] = assignor
    return tuple(found.values())


def _resolve(written: str, folder: Path | None) -> ServerAssignor:
    known = BUILT_IN.get(written) or _JAVA_CLASSES.get(written)
    if known is not None:
        return known()
    if ":" not in written:
        near = get_close_matches(written, BUILT_IN, 1)
        hint = f"did you mean {near[0]!r}? Brokers have" if near else "brokers have"
        raise AssignorError(written, f"no such assignor; {hint} {', '.join(BUILT_IN)}; write your own as module:Class")
    return _make(written, load_object(written, folder or Path.cwd()))


def _make(written: str, kind: object) -> ServerAssignor:
    if not isinstance(kind, type) or not issubclass(kind, ServerAssignor):
        what = f"class {kind.__name__}" if isinstance(kind, type) else f"a {type(kind).__name__}"
        where = source_of(kind) if isinstance(kind, type) else None
        raise AssignorError(written, f"{what} is no assignor of a broker; inherit from ServerAssignor", where)
    try:
        assignor = kind()
    except (Exception, SystemExit) as problem:
        text = f"{kind.__name__}() failed: {type(problem).__name__}: {problem}"
        raise AssignorError(written, text, user_frame(problem) or source_of(kind)) from problem
    name = getattr(assignor, "name", None)
    if not isinstance(name, str) or not name:
        raise AssignorError(written, f"{kind.__name__} has no `name`: set it to a text", source_of(kind))
    return assignor
