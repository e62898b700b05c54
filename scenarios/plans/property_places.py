"""Find where a setting of a member was written: at the member, its group, in pasted text, or in a .properties file."""

from __future__ import annotations

from pathlib import Path

from groupsim.scenarios.language.document import Document
from groupsim.scenarios.language.plain_data import Path_
from groupsim.scenarios.language.problems import Place
from groupsim.scenarios.language.properties import entries
from groupsim.scenarios.plans.members import MemberPlan

_SHORTCUTS = {
    "partition.assignment.strategy": "assignor",
    "group.instance.id": "instance-id",
    "client.id": "client-id",
}


def place_of(document: Document, plan: MemberPlan, key: str) -> Place:
    """Return the place of a setting: that of the pasted text for its settings, the member's for a default."""
    path = path_of(document, plan, "properties", last=(key,))
    in_scenario = path[-1] in (key, _SHORTCUTS.get(key)) or key in plan.spec.properties
    elsewhere = None if in_scenario else in_file(document, plan.spec.properties_file, key)
    return elsewhere or document.at_key(path)


def path_of(document: Document, plan: MemberPlan, section: str, last: Path_) -> Path_:
    """Return the path to `section` and, below it, `last`; or the longest part of it that exists."""
    own: Path_ = ("groups", plan.group, "members", plan.key, section)
    theirs: Path_ = ("groups", plan.group, section)
    for path in (own, theirs):
        if document.holds((*path, *last)):
            return (*path, *last)
        short = (*path[:-1], _SHORTCUTS[str(last[0])]) if last and last[0] in _SHORTCUTS else ()
        if short and document.holds(short):
            return short
    return next((path for path in (own, theirs) if document.holds(path)), own[:-1])


def in_file(document: Document, file: str | None, key: str) -> Place | None:
    """Return the last line of `key`, which takes effect, in a file beside the document; None without one."""
    if file is None:
        return None
    path = Path(document.file).parent / file
    try:
        lines = [number for number, name, _ in entries(path.read_text(encoding="utf-8")) if name == key]
    except (OSError, ValueError):
        return None  # the reader of the file reports it
    return Place(str(path), lines[-1], 1) if lines else None
