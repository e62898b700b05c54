"""A page of YAML with comments: keys and values line by line, questions, and where a value comes from."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterable
from typing import Any

from attrs import define, evolve, field, frozen

from groupsim.scenarios.drafting.facts import Fact
from groupsim.scenarios.drafting.guesses import GUESSES

_PLAIN = re.compile(r"[A-Za-z][\w./-]*|\d{1,18}|\d+(?:us|ms|s|m|h|%)|\d+/s")
_NOT_TEXT = ("true", "false", "null", "yes", "no", "on", "off", "y", "n")
_WIDTH = 118
ASK, NOTE = "# ? ", "# "


@frozen
class Question:
    """A question of the draft, the line that it stands in, and the line of the guess that it is about, if one is."""

    line: int
    text: str
    guess: str = ""


@define
class Sheet:
    """The lines of a scenario under way; `depth` counts steps of two blanks."""

    lines: list[str] = field(factory=list)
    _asked: set[str] = field(factory=set)

    def value(self, depth: int, key: str, value: str, source: Fact[Any] | str = "") -> None:
        """One key with its value, and in a comment where that comes from."""
        words = source.source if isinstance(source, Fact) else source
        self.lines.append(f"{'  ' * depth}{key}: {value}{f'  # {words}' if words else ''}")

    def item(self, depth: int, key: str, value: str) -> None:
        """The first key of a list's item."""
        self.lines.append(f"{'  ' * depth}- {key}: {value}")

    def open(self, depth: int, key: str, source: Fact[Any] | str = "") -> None:
        """A key whose value follows in deeper lines."""
        words = source.source if isinstance(source, Fact) else source
        self.lines.append(f"{'  ' * depth}{key}:{f'  # {words}' if words else ''}")

    def ask(self, depth: int, name: str, *of: str) -> None:
        """A question of the table; once, however often its guess stands in."""
        words = GUESSES[name].question.format(*of)
        if words not in self._asked:
            self._asked.add(words)
            self.question(depth, words)

    def question(self, depth: int, words: str) -> None:
        """A question in words of its own."""
        self._comment(depth, ASK, words)

    def note(self, depth: int, words: str) -> None:
        """A remark."""
        self._comment(depth, NOTE, words)

    def blank(self) -> None:
        """An empty line."""
        self.lines.append("")

    def _comment(self, depth: int, mark: str, words: str) -> None:
        indent = "  " * depth
        further = indent + "#" + " " * (len(mark) - 1)
        width = _WIDTH - len(indent)
        self.lines += textwrap.wrap(
            words, width, initial_indent=indent + mark, subsequent_indent=further, break_on_hyphens=False
        )

    @property
    def text(self) -> str:
        """The page."""
        return "\n".join(self.lines) + "\n"


def scalar(value: object) -> str:
    """A value as YAML: plain where it stays the same text, in quotes where it would not."""
    if isinstance(value, bool):
        return str(value).lower()
    text = str(getattr(value, "text", value))
    if not isinstance(value, str):
        return text
    plain = _PLAIN.fullmatch(text) is not None and text.lower() not in _NOT_TEXT
    return text if plain else json.dumps(text, ensure_ascii=False)


def questions_of(text: str) -> tuple[Question, ...]:
    """The questions of a draft; what follows on further lines belongs to them, then comes the guess."""
    found: list[Question] = []
    here = False  # whether the line before belongs to a question
    for number, line in enumerate(text.splitlines(), 1):
        words = line.strip()
        if words.startswith(ASK):
            found.append(Question(number, words.removeprefix(ASK)))
        elif here and words.startswith("#   "):
            found[-1] = evolve(found[-1], text=f"{found[-1].text} {words.lstrip('# ')}")
        elif here and not words.startswith("#"):
            guess = words.split("  # ")[0].removeprefix("- ")
            found[-1] = evolve(found[-1], guess="" if guess.endswith(":") else guess)
        here = words.startswith(ASK) or (here and words.startswith("#   "))
    return tuple(found)


def names(parts: Iterable[str]) -> str:
    """A list in YAML's flow style."""
    return "[" + ", ".join(scalar(part) for part in parts) + "]"
