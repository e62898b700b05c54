"""What a real client did in a story, kept as plain lines: `facts/<client>/<story>.txt`.

A story is recorded several times. Where the client's threads race for something, there is more than one way: a pause of
more than one class, `at once|0.2 s`, or whole sequences, with `or` between them. Each of them is right.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from difflib import ndiff
from pathlib import Path

from attrs import evolve, frozen

from tests.twins.story import Story
from tests.twins.writing import CLASSES, Told

FOLDER = Path(__file__).with_name("facts")
ANY = "any"  #: a pause that is not compared
_ORDER = {name: number for number, (_, name) in enumerate((*CLASSES, (0, "long"), (0, ANY)))}
_APPLICATION = "application:"
_OR = "or"
_SOON = CLASSES[0][1]
_OF_ONE = re.compile(r"^(OffsetFetch v\d+ )\[[^] ]+\](.* -> )(\S*-\d+@-?\d+)?")
_QUIET = re.compile(r"ConsumerGroupHeartbeat v\d+ member \S+ epoch (\d+)( instance \S+)? -> epoch \1$")
_ACKNOWLEDGES = re.compile(r"ConsumerGroupHeartbeat v\d+ member \S+ epoch [1-9]\d*( instance \S+)? owns ")
_OFTEN = 2  # what was seen so often is no accident of a busy machine


@frozen
class Way:
    """The requests, each with the classes its pause may have; what the application went through."""

    pauses: tuple[frozenset[str], ...]
    requests: tuple[str, ...]
    application: tuple[str, ...]

    def differences(self, told: Told, *, late: bool) -> list[str]:
        """What a play has otherwise, a line each: `-` as the client does it, `+` as the play has it.

        `late`: in real time a pause may be longer than it should be by one class, never shorter.
        """
        own = [*self.requests, _APPLICATION, *self.application]
        other = [*told.requests, _APPLICATION, *told.application]
        if own != other:
            return [line for line in ndiff(own, other) if not line.startswith("?")]
        return [
            f"-{_shown(may)} +{is_} {request}"
            for may, is_, request in zip(self.pauses, told.pauses, self.requests, strict=True)
            if is_ not in may and not (late and _ORDER[is_] == 1 + max(map(_ORDER.__getitem__, may)))
        ]

    @property
    def lines(self) -> list[str]:
        """How it is kept."""
        width = max((len(_shown(may)) for may in self.pauses), default=0)
        requests = [f"{_shown(may):{width}}  {text}" for may, text in zip(self.pauses, self.requests, strict=True)]
        return [*requests, _APPLICATION, *(f"  {line}" for line in self.application)]


def _shown(pauses: Iterable[str]) -> str:
    return "|".join(sorted(pauses, key=_ORDER.__getitem__))


@frozen
class Fact:
    """The ways in which a story may go, the most usual one first."""

    ways: tuple[Way, ...]

    def differences(self, told: Told, *, late: bool = False) -> list[str]:
        """What a play has otherwise than the way that is nearest to it; nothing when it goes one of them."""
        return min((way.differences(told, late=late) for way in self.ways), key=_distance)


def _distance(differences: Sequence[str]) -> int:
    return sum(line[0] in "+-" for line in differences)


def heard(told: Told, prefixes: tuple[str, ...]) -> Told:
    """A play of which some of what the application went through is left out."""
    return evolve(told, application=tuple(line for line in told.application if line.startswith(prefixes)))


def loosely(told: Told) -> Told:
    """A play of which neither is compared what errors are called, nor how long the first records took to come."""
    nameless = ["threw" if line.startswith("threw ") else line for line in told.application]
    lines = [line for at, line in enumerate(nameless) if line != "threw" or nameless[at - 1 : at] != [line]]
    pairs = zip(("", *told.requests), told.requests, told.pauses, strict=False)
    pauses = [_SOON if _awaits_records(before, request) else pause for before, request, pause in pairs]
    return evolve(told, pauses=tuple(pauses), application=tuple(lines))


def timeless(told: Told) -> Told:
    """A play of which pauses are not compared."""
    return evolve(told, pauses=(ANY,) * len(told.requests))


def eventful(told: Told) -> Told:
    """A play of which neither pauses are compared nor heartbeats that keep the session and change nothing.

    An acknowledgement stands before the look-ups of offsets that go out beside it.
    """
    requests = [request for request in told.requests if not _QUIET.match(request)]
    for at in range(1, len(requests)):
        before = at
        while _ACKNOWLEDGES.match(requests[before]) and requests[before - 1].startswith("OffsetFetch "):
            requests[before - 1 : before + 1] = [requests[before], requests[before - 1]]
            before -= 1
    return timeless(evolve(told, pauses=(ANY,) * len(requests), requests=tuple(requests)))


def unsorted(told: Told) -> Told:
    """A play of which is not compared for which partition it asks first, where it asks for one after the other."""
    return evolve(told, requests=tuple(_OF_ONE.sub(r"\1[one]\2", line).rstrip() for line in told.requests))


def _awaits_records(before: str, request: str) -> bool:
    return before.startswith("OffsetFetch ") and request.startswith("OffsetCommit ")


def gathered(plays: Sequence[Told], *, delayed: bool = False) -> Fact:
    """The fact that several plays of one story are evidence of.

    `delayed`: the machine held the plays up. Then of a pause the least class counts, and the one that was seen most
    often (after a delay a pause may be too short, too); where no two plays are alike, the one that was held up least.
    """
    kinds = Counter((play.requests, play.application) for play in sorted(plays, key=lambda play: play.held_up_us))
    usual = [kind for kind, times in kinds.most_common() if times >= _OFTEN] or [kinds.most_common(1)[0][0]]
    pauses = _usual if delayed else _often
    alike = ([play for play in plays if (play.requests, play.application) == kind] for kind in usual)
    return Fact(tuple(_way(some, pauses) for some in alike))


def _way(alike: Sequence[Told], often: Callable[[Sequence[str]], frozenset[str]]) -> Way:
    pauses = tuple(often(column) for column in zip(*[play.pauses for play in alike], strict=True))
    return Way(pauses, alike[0].requests, alike[0].application)


def _usual(pauses: Sequence[str]) -> frozenset[str]:
    seen = Counter(pauses)
    most = min(seen, key=lambda name: (-seen[name], _ORDER[name]))
    return frozenset({most, min(seen, key=_ORDER.__getitem__)})


def _often(pauses: Sequence[str]) -> frozenset[str]:
    seen = Counter(pauses)
    often = frozenset(name for name, times in seen.items() if times >= _OFTEN)
    return often or frozenset(seen)


def path_of(client: str, story: Story) -> Path:
    """Where a fact lies."""
    return FOLDER / client / f"{story.slug}.txt"


def kept(client: str) -> list[str]:
    """The names of the files of a client's facts, without their ends."""
    return sorted(path.stem for path in (FOLDER / client).glob("*.txt"))


def write(client: str, story: Story, fact: Fact) -> None:
    """Keep a fact."""
    path = path_of(client, story)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"\n{_OR}\n".join("\n".join(way.lines) for way in fact.ways) + "\n", "utf-8")


def read(client: str, story: Story) -> Fact:
    """A fact that was kept. Raises FileNotFoundError."""
    return Fact(
        tuple(_read(part.splitlines()) for part in path_of(client, story).read_text("utf-8").split(f"\n{_OR}\n"))
    )


def _read(lines: Sequence[str]) -> Way:
    cut = lines.index(_APPLICATION)
    said = [line.split("  ", 1) for line in lines[:cut]]
    return Way(
        tuple(frozenset(pauses.split("|")) for pauses, _ in said),
        tuple(text.lstrip() for _, text in said),
        tuple(line.strip() for line in lines[cut + 1 :]),
    )
