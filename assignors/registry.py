"""The assignor for a name: built in, by its Java class name, `module:Class`, or registered as an entry point.

A distribution registers its own assignor with

    [project.entry-points."groupsim.assignors"]
    my-name = "my_package.my_module:MyAssignor"

`resolve` makes a new object at every call: an assignor belongs to one consumer.
"""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from groupsim.assignors.base.error_location import source_of, user_frame
from groupsim.assignors.base.errors import AssignorError
from groupsim.assignors.base.interface import Assignor, RebalanceProtocol
from groupsim.assignors.base.loading import load_object
from groupsim.assignors.rack_first import RackFirstAssignor
from groupsim.assignors.range import RangeAssignor
from groupsim.assignors.roundrobin import RoundRobinAssignor
from groupsim.assignors.sticky.cooperative import CooperativeStickyAssignor
from groupsim.assignors.sticky.sticky import StickyAssignor

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

ENTRY_POINTS = "groupsim.assignors"
JAVA_PACKAGE = "org.apache.kafka.clients.consumer."

#: Kafka's own, by name.
KAFKAS: dict[str, type[Assignor]] = {
    kind.name: kind for kind in (RangeAssignor, RoundRobinAssignor, StickyAssignor, CooperativeStickyAssignor)
}
#: The same by Java class name, as pasted properties have them.
JAVA_CLASSES: dict[str, type[Assignor]] = {JAVA_PACKAGE + kind.__name__: kind for kind in KAFKAS.values()}
#: The example assignor.
EXAMPLES: dict[str, type[Assignor]] = {RackFirstAssignor.name: RackFirstAssignor}


def resolve(name: str, folder: Path | None = None) -> Assignor:
    """Return a new assignor of that name.

    `module:Class` is searched in `folder` (the present one by default) and then on Python's path. Raises
    AssignorError, with the nearest known name when there is one.
    """
    known = KAFKAS.get(name) or JAVA_CLASSES.get(name) or EXAMPLES.get(name)
    if known is not None:
        return known()
    if ":" in name:
        return _make(name, load_object(name, folder or Path.cwd()))
    for entry in _registered():
        if entry.name == name:
            return _make(name, _load_entry(entry))
    raise AssignorError(name, _unknown(name))


def instance_of(kind: type[Assignor]) -> Assignor:
    """Return a new assignor of a class. Raises AssignorError when a required attribute is missing."""
    return _make(str(getattr(kind, "name", None) or getattr(kind, "__name__", kind)), kind)


def known_names() -> list[str]:
    """Return the names that `resolve` knows without a module."""
    return [*KAFKAS, *EXAMPLES, *(entry.name for entry in _registered())]


def is_kafkas(assignor: Assignor) -> bool:
    """Whether it is one of Kafka's own, whose results are not checked."""
    return type(assignor) in KAFKAS.values()


def _registered() -> list[EntryPoint]:
    from importlib.metadata import entry_points  # with Python's reader of e-mail; asked for by unknown names alone

    return sorted(entry_points(group=ENTRY_POINTS), key=lambda entry: entry.name)


def _unknown(name: str) -> str:
    nearest = get_close_matches(name, [*known_names(), *JAVA_CLASSES], n=1, cutoff=0.5)
    hint = f"did you mean {nearest[0]!r}? Known" if nearest else "known"
    return f"no such assignor; {hint} are {', '.join(known_names())}; write your own as module:Class"


def _load_entry(entry: EntryPoint) -> object:
    try:
        found: object = entry.load()
    except Exception as problem:
        text = f"entry point {entry.value!r} cannot be loaded: {type(problem).__name__}: {problem}"
        raise AssignorError(entry.name, text, user_frame(problem)) from problem
    return found


def _make(name: str, kind: object) -> Assignor:
    """Return an object of the user's class, if it is an assignor with the required attributes."""
    if not isinstance(kind, type) or not issubclass(kind, Assignor):
        what = f"class {kind.__name__}" if isinstance(kind, type) else f"a {type(kind).__name__}"
        text = f"{what} is no assignor; inherit from groupsim.assignors.Assignor"
        raise AssignorError(name, text, source_of(kind) if isinstance(kind, type) else None)
    try:
        assignor = kind()
    except (Exception, SystemExit) as problem:
        text = f"{kind.__name__}() failed: {type(problem).__name__}: {problem}"
        raise AssignorError(name, text, user_frame(problem) or source_of(kind)) from problem
    wrong = _wrong_attribute(assignor)
    if wrong is not None:
        raise AssignorError(name, wrong, source_of(kind))
    return assignor


def _wrong_attribute(assignor: Assignor) -> str | None:
    given = getattr(assignor, "name", None)
    if not isinstance(given, str) or not given:
        return "the class needs a `name`, the text under which members vote for it"
    protocols = assignor.protocols
    if not protocols or not all(isinstance(protocol, RebalanceProtocol) for protocol in protocols):
        return "`protocols` must be a non-empty frozenset of RebalanceProtocol"
    return None
