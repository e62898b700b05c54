"""Configurations of several documents: the profiles of a Spring Boot application, or manifests one after the other.

    spring.config.activate.on-profile: prod     Spring Boot since 2.4; `spring.profiles: prod` before
    ---  in YAML, #--- in .properties           where the next document begins

Of an application, what stands in a document without a profile holds always, and what stands in one with a profile is
put over it while that profile is active. So there is one configuration without any, and one for each profile that is
named; profiles together, and what an expression (`prod & eu`) means, are not tried out. Documents that are no
application's (manifests) have nothing to do with each other: each is a configuration.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

from attrs import frozen

from groupsim.scenarios.lint.spellings import Line, kafka_name

ON_PROFILE = ("spring.config.activate.on-profile", "spring.profiles")
"""Where Spring Boot reads for which profile a document is."""
_OF_SPRING = "spring."
_NEXT = re.compile(r"[#!]---\s*")


@frozen
class Variant:
    """One configuration: what counts under a profile, or (`profile` empty) without any."""

    profile: str
    lines: tuple[Line, ...]


def parts_of(lines: Sequence[Line], text: str) -> list[list[Line]]:
    """The documents of a .properties text, whose settings are `lines`."""
    begins = [number for number, line in enumerate(text.splitlines(), 1) if _NEXT.fullmatch(line)]
    edges = [0, *begins, len(text)]
    parts = ([line for line in lines if begin < line[0] < end] for begin, end in pairwise(edges))
    return [part for part in parts if part] if begins else [list(lines)]


def variants(documents: Sequence[Sequence[Line]]) -> list[Variant]:
    """The configurations that the documents make, that without a profile first; empty ones are left out."""
    profiles = [_profile(lines) for lines in documents]
    if not any(name.startswith(_OF_SPRING) for lines in documents for _, name, _ in lines):
        found = [Variant("", tuple(lines)) for lines in documents]
    else:
        named = dict.fromkeys(["", *profiles])
        pairs = list(zip(documents, profiles, strict=True))
        found = [Variant(name, _over(lines for lines, whose in pairs if whose in ("", name))) for name in named]
    return [one for one in found if one.lines]


def _profile(lines: Iterable[Line]) -> str:
    """What a document says of when it counts; of a list any one is enough."""
    return next((value.replace(",", " or ") for _, name, value in lines if name in ON_PROFILE), "")


def _over(documents: Iterable[Sequence[Line]]) -> tuple[Line, ...]:
    """The settings of documents of which each counts over those before it."""
    kept: list[Line] = []
    for lines in documents:
        names = {_key(name) for _, name, _ in lines}
        kept = [line for line in kept if _key(line[1]) not in names]
        kept += [line for line in lines if line[1] not in ON_PROFILE]
    return tuple(kept)


def _key(name: str) -> str:
    return kafka_name(name) or name
