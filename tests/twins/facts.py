"""What a real client did in a story, kept as plain lines: `facts/<client>/<story>.txt`.

A story is recorded several times. What counts is the sequence of requests that came about most often; where the
client's threads race for something, a pause has more than one class, `at once|0.2 s`, and each is right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from difflib import ndiff
from pathlib import Path

from attrs import frozen

from tests.twins.story import Story
from tests.twins.writing import CLASSES, Told

FOLDER = Path(__file__).with_name("facts")
_ORDER = {name: number for number, (_, name) in enumerate((*CLASSES, (0, "long")))}
_APPLICATION = "application:"
_OFTEN = 2  # of a pause: it is no accident of a busy machine


@frozen
class Fact:
    """The requests, each with the classes its pause may have; what the application went through."""

    pauses: tuple[frozenset[str], ...]
    requests: tuple[str, ...]
    application: tuple[str, ...]

    def differences(self, told: Told) -> list[str]:
        """What a play has otherwise, a line each: `-` as the client does it, `+` as the play has it."""
        own = [*self.requests, _APPLICATION, *self.application]
        other = [*told.requests, _APPLICATION, *told.application]
        if own != other:
            return _beside(own, other)
        return [
            f"-{_shown(may)} +{is_} {request}"
            for may, is_, request in zip(self.pauses, told.pauses, self.requests, strict=True)
            if is_ not in may
        ]


def _beside(own: Sequence[str], other: Sequence[str]) -> list[str]:
    return [line for line in ndiff(own, other) if not line.startswith("?")]


def _shown(pauses: Iterable[str]) -> str:
    return "|".join(sorted(pauses, key=_ORDER.__getitem__))


def gathered(plays: Sequence[Told]) -> Fact:
    """The fact that several plays of one story are evidence of."""
    kinds = Counter((play.requests, play.application) for play in plays)
    usual = max(kinds, key=lambda kind: kinds[kind])
    alike = [play for play in plays if (play.requests, play.application) == usual]
    return Fact(tuple(_often(column) for column in zip(*[play.pauses for play in alike], strict=True)), *usual)


def _often(pauses: Sequence[str]) -> frozenset[str]:
    seen = Counter(pauses)
    often = frozenset(name for name, times in seen.items() if times >= _OFTEN)
    return often or frozenset(seen)


def path_of(client: str, story: Story) -> Path:
    """Where a fact lies."""
    return FOLDER / client / f"{story.slug}.txt"


def write(client: str, story: Story, fact: Fact) -> None:
    """Keep a fact."""
    width = max((len(_shown(may)) for may in fact.pauses), default=0)
    lines = [f"{_shown(may):{width}}  {text}" for may, text in zip(fact.pauses, fact.requests, strict=True)]
    path = path_of(client, story)
    path.parent.mkdir(parents=True, exist_ok=True)
    application = [f"  {line}" for line in fact.application]
    path.write_text("\n".join([*lines, _APPLICATION, *application]) + "\n", "utf-8")


def read(client: str, story: Story) -> Fact:
    """A fact that was kept. Raises FileNotFoundError."""
    lines = path_of(client, story).read_text("utf-8").splitlines()
    cut = lines.index(_APPLICATION)
    said = [line.split("  ", 1) for line in lines[:cut]]
    return Fact(
        tuple(frozenset(pauses.split("|")) for pauses, _ in said),
        tuple(text.lstrip() for _, text in said),
        tuple(line.strip() for line in lines[cut + 1 :]),
    )
