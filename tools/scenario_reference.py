"""Write the reference part of docs/writing-a-scenario.md from the model and the registries.

python tools/scenario_reference.py            write the part between the markers
python tools/scenario_reference.py --check    exit 1 when the page differs

A test compares the page with what this module makes, so the page cannot say what the loader does not do.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from kept_page import keep, replaced

from groupsim.eventloop.units import MS_US, show_us
from groupsim.members.profiles import PROFILES
from groupsim.members.profiles.profile import ErrorLoop, OnError
from groupsim.members.zookeeper.kinds import CLIENTS
from groupsim.scenarios.language.acls import AclSpec
from groupsim.scenarios.language.keys import REQUIRED, fields_of, sentence, short_key
from groupsim.scenarios.language.model import (
    ClusterSpec,
    GroupSpec,
    KeysSpec,
    MemberDefaults,
    MemberSpec,
    Pauses,
    ProducerSpec,
    ProducesSpec,
    RateStep,
    Scenario,
    TopicSpec,
)
from groupsim.scenarios.language.registry import ACTIONS, CHECKS, FAULTS
from groupsim.scenarios.loading.catalogue import list_scenarios
from groupsim.scenarios.loading.converters import Timing

PAGE = Path(__file__).resolve().parent.parent / "docs" / "writing-a-scenario.md"
BEGIN = "<!-- reference: begin (written by tools/scenario_reference.py) -->"
END = "<!-- reference: end -->"

SECTIONS: tuple[tuple[str, type[Any]], ...] = (
    ("The file", Scenario),
    ("`cluster`", ClusterSpec),
    ("`cluster`: one of the `acls`", AclSpec),
    ("`topics`: one topic", TopicSpec),
    ("`topics`: a later change of the rate (`steps`)", RateStep),
    ("`producers`: one producer", ProducerSpec),
    ("`producers`: `keys`", KeysSpec),
    ("`groups`: one group", GroupSpec),
    ("`groups`: one member (`members`)", MemberSpec),
    ("`groups`: `pauses`", Pauses),
    ("`groups`: `produces`", ProducesSpec),
    ("`timeline`: when", Timing),
)


def reference() -> str:
    """The whole part, markers included."""
    return "\n".join([BEGIN, *_lines(), END])


_RELEASES = (
    "A release (`java-3.6`, `librdkafka-2.3.0`, `confluent-kafka-python-2.3.0`) is simulated as the profile that "
    "covers it, with the defects it had; one that is known to behave otherwise is refused with the nearest "
    "([defects.md](defects.md#releases-of-clients)). `groupsim lint` judges it as that very release."
)


def _lines() -> Iterator[str]:
    for title, cls in SECTIONS:
        yield from section(title, cls)
    registries: tuple[tuple[str, Mapping[str, type[Any]]], ...] = (
        ("Actions", ACTIONS),
        ("Faults", FAULTS),
        ("Expectations", CHECKS),
    )
    for title, registry in registries:
        yield from ("", f"### {title}", "")
        for name, entry in registry.items():
            yield from _entry(name, entry)
    names = ", ".join(f"`{name}`" for name in CLIENTS)
    yield from ("", "### Client profiles", "", *_wrapped(names))
    yield from ("", *_wrapped(_RELEASES))
    yield from _error_loops()
    yield from ("", "### The library", "", "| name | what it shows | source |", "|---|---|---|")
    for one in list_scenarios():
        yield f"| `{one.name}` | {one.shows} | {one.source or ''} |"


def _error_loops() -> Iterator[str]:
    """The table of what `on-error` and `error-pause` are by default, by library."""
    yield from ("", "### When joining fails: `on-error` by library", "", *_wrapped(_ON_ERROR), "")
    yield from ("| client | `on-error` | `error-pause` | because the library |", "|---|---|---|---|")
    loops: dict[ErrorLoop, list[str]] = {}
    for profile in {profile.name: profile for profile in PROFILES.values()}.values():
        loops.setdefault(profile.error_loop, []).append(f"`{profile.name}`")
    for loop, names in loops.items():
        shortest, longest = loop.first_pause_ms * MS_US, loop.longest_pause_ms * MS_US
        pause = show_us(shortest) if shortest >= longest else f"{show_us(shortest)}, doubled up to {show_us(longest)}"
        pause = "–" if loop.policy is OnError.STOP else pause
        yield f"| {', '.join(names)} | `{loop.policy.value}` | {pause} | {loop.because} |"


_ON_ERROR = (
    "An error that JoinGroup or SyncGroup is answered with, and that the library does not try again by itself. "
    "Containers do otherwise (Spring's polls again: `retry`), and so does an application that panics at the first "
    "error (`stop`). After an error that every further poll would throw at once the pause is a second at least."
)


def section(title: str, cls: type) -> Iterator[str]:
    """The lines on one class of a file: a heading and the table of its keys."""
    yield from ("", f"### {title}", "", *_intro(cls), *_table(cls))


def _intro(cls: type) -> Iterator[str]:
    short = short_key(cls)
    if cls in (GroupSpec, MemberSpec):
        keys = ", ".join(f"`{name}`" for name in fields_of(MemberDefaults))
        if cls is MemberSpec:
            yield from (*_wrapped(f"Besides these, every key of a group but `members`: {keys}."), "")
    if short is not None:
        yield from (f"A bare value stands for `{short}`.", "")


def _table(cls: type) -> Iterator[str]:
    inherited = fields_of(MemberDefaults) if cls is MemberSpec else {}
    yield from ("| key | what it says | default |", "|---|---|---|")
    for name, field in fields_of(cls).items():
        if name not in inherited:
            yield f"| `{name}` | {_cell(_meaning(field))} | {_default(field)} |"


def _entry(name: str, cls: type) -> Iterator[str]:
    yield f"- **`{name}`**: {_cell(sentence(cls))}"
    for key, field in fields_of(cls).items():
        default = _default(field)
        yield f"  - `{key}`: {_cell(_meaning(field))}{' *(required)*' if default == 'required' else ''}"


def _meaning(field: Any) -> str:
    """Return the meaning of a key, with its possible values if they are few."""
    choices = list(dict.fromkeys(_choices(field.type)))
    return str(field.metadata["doc"]) + (f" One of {', '.join(f'`{one}`' for one in choices)}." if choices else "")


def _choices(wanted: Any) -> Iterator[str]:
    if get_origin(wanted) is Literal:
        yield from map(str, get_args(wanted))
    elif isinstance(wanted, type) and issubclass(wanted, Enum):
        yield from (str(one.value) for one in wanted)
    else:
        for inner in get_args(wanted):
            if inner is not Ellipsis and inner is not type(None):
                yield from _choices(inner)


def _default(field: Any) -> str:
    if field.default is REQUIRED:
        return "required"
    if field.default is None or field.default == () or not isinstance(field.default, (int, str)):
        return ""
    return f"`{field.default}`" if field.default != "" else ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _wrapped(text: str) -> Iterable[str]:
    return textwrap.wrap(text, 110, break_long_words=False, break_on_hyphens=False)


def rewritten(page: str) -> str:
    """The page with the part between its markers. Raises ValueError when it has no markers."""
    return replaced(page, BEGIN, END, reference())


if __name__ == "__main__":
    sys.exit(keep(PAGE, rewritten, __doc__))
