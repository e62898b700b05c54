"""A page of YAML with comments: keys and values line by line, questions, and the sources of values."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterable
from typing import Any

from attrs import evolve, field

from groupsim.protocol.values import define, frozen
from groupsim.scenarios.drafting.facts import Fact
from groupsim.scenarios.drafting.guesses import GUESSES

_PLAIN = re.compile(r"[A-Za-z][\w./-]*|\d{1,18}|\d+(?:us|ms|s|m|h|%)|\d+/s")
_NOT_TEXT = ("true", "false", "null", "yes", "no", "on", "off", "y", "n")
_WIDTH = 118
ASK, NOTE = "# ? ", "# "


@frozen
class Question:
    """A question of the draft, its line, and its guess, if any."""

    line: int
    text: str
    guess: str = ""


@define
class Sheet:
    """The lines of a scenario; `depth` counts indents of two blanks."""

    lines: list[str] = field(factory=list)
    _asked: set[str] = field(factory=set)

    def value(self, depth: int, key: str, value: str, source: Fact[Any] | str = "") -> None:
        """Add a key with its value, and a comment with its source."""
        words = source.source if isinstance(source, Fact) else source
        self.lines.append(f"{'  ' * depth}{key}: {value}{f'  # {words}' if words else ''}")

    def item(self, key: str, value: str) -> None:
        """Add the first key of an item of a list at the top."""
        self.lines.append(f"  - {key}: {value}")

    def open(self, depth: int, key: str, source: Fact[Any] | str = "") -> None:
        """Add a key whose value follows in deeper lines."""
        words = source.source if isinstance(source, Fact) else source
        self.lines.append(f"{'  ' * depth}{key}:{f'  # {words}' if words else ''}")

    def ask(self, depth: int, name: str, *of: str) -> None:
        """Add a question of `GUESSES`, at its first use only."""
        words = GUESSES[name].question.format(*of)
        if words not in self._asked:
            self._asked.add(words)
            self.question(depth, words)

    def question(self, depth: int, words: str) -> None:
        """Add a question."""
        self._comment(depth, ASK, words)

    def note(self, depth: int, words: str) -> None:
        """Add a comment."""
        self._comment(depth, NOTE, words)

    def blank(self) -> None:
        """Add an empty line."""
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
    """Write a value as YAML: plain if it stays the same text, else in quotes."""
    if isinstance(value, bool):
        return str(value).lower()
    text = str(getattr(value, "text", value))
    if not isinstance(value, str):
        return text
    plain = _PLAIN.fullmatch(text) is not None and text.lower() not in _NOT_TEXT
    return text if plain else json.dumps(text, ensure_ascii=False)


def questions_of(text: str) -> tuple[Question, ...]:
    """Return the questions of a draft; further comment lines belong to a question, the next line is its guess."""
    found: list[Question] = []
    here = False  # whether the previous line belongs to a question
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
    """Write a list in YAML's flow style."""
    return "[" + ", ".join(scalar(part) for part in parts) + "]"
