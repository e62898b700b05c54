"""Split configurations into documents: the profiles of a Spring Boot application, or manifests one after the other.

    spring.config.activate.on-profile: prod     Spring Boot since 2.4; `spring.profiles: prod` before
    ---  in YAML, #--- in .properties           begins the next document

In an application, a document without a profile always applies, and a document with a profile
overrides it while that profile is active. So there is one configuration without a profile, and one for each
profile; combinations of profiles, and expressions (`prod & eu`), are not evaluated. Documents of other kinds
(manifests) are independent configurations.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

from groupsim.protocol.values import frozen
from groupsim.scenarios.lint.spellings import Line, kafka_name

ON_PROFILE = ("spring.config.activate.on-profile", "spring.profiles")
"""The settings in which Spring Boot reads the profile of a document."""
_OF_SPRING = "spring."
_NEXT = re.compile(r"[#!]---\s*")


@frozen
class Variant:
    """One configuration: the settings of a profile, or (`profile` empty) without a profile."""

    profile: str
    lines: tuple[Line, ...]


def parts_of(lines: Sequence[Line], text: str) -> list[list[Line]]:
    """Split the settings `lines` of a .properties text into its documents."""
    begins = [number for number, line in enumerate(text.splitlines(), 1) if _NEXT.fullmatch(line)]
    edges = [0, *begins, len(text)]
    parts = ([line for line in lines if begin < line[0] < end] for begin, end in pairwise(edges))
    return [part for part in parts if part] if begins else [list(lines)]


def variants(documents: Sequence[Sequence[Line]]) -> list[Variant]:
    """Return the configurations of the documents, the one without a profile first; empty ones are left out."""
    profiles = [_profile(lines) for lines in documents]
    if not any(name.startswith(_OF_SPRING) for lines in documents for _, name, _ in lines):
        found = [Variant("", tuple(lines)) for lines in documents]
    else:
        named = dict.fromkeys(["", *profiles])
        pairs = list(zip(documents, profiles, strict=True))
        found = [Variant(name, _over(lines for lines, whose in pairs if whose in ("", name))) for name in named]
    return [one for one in found if one.lines]


def _profile(lines: Iterable[Line]) -> str:
    """Return the profile of a document; any profile of a list activates it."""
    return next((value.replace(",", " or ") for _, name, value in lines if name in ON_PROFILE), "")


def _over(documents: Iterable[Sequence[Line]]) -> tuple[Line, ...]:
    """Return the settings of documents, of which each overrides those before it."""
    kept: list[Line] = []
    for lines in documents:
        names = {_key(name) for _, name, _ in lines}
        kept = [line for line in kept if _key(line[1]) not in names]
        kept += [line for line in lines if line[1] not in ON_PROFILE]
    return tuple(kept)


def _key(name: str) -> str:
    return kafka_name(name) or name
