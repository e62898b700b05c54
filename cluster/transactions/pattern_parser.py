"""Reads a regular expression as RE2 does, and makes a program of it that `patterns` runs.

RE2 leaves out what cannot be run in linear time: references back, looking ahead and behind, possessive repetition.
A program is a list of steps; a step takes one character, looks at the place, or goes on elsewhere:

    TAKE matches      one character of these, then the next step
    LOOK kind         nothing is taken; the place has to be the beginning, the end, at a word's edge, or not at one
    FORK one, other   both ways at once
    DONE

How greedy a repetition is, and which groups caught what, decides nothing about whether a whole text matches, so it is
read and forgotten. `(?m)` is taken for what it is: `^` and `$` at lines.

Source: RE2/J (`Parser`), https://github.com/google/re2/wiki/Syntax.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import Final

from attrs import evolve, frozen

from groupsim.cluster.transactions import pattern_classes as classes
from groupsim.cluster.transactions.pattern_classes import Matches

_MOST_REPEATS: Final = 1_000
_MOST_STEPS: Final = 10_000
_DEEPEST: Final = 100
_FLAGS: Final = "imsU"
_GROUP_NAME: Final = re.compile(r"P?<(\w+)>", re.ASCII)
_REPEAT: Final = re.compile(r"\{(\d+)(?:(,)(\d*))?\}", re.ASCII)
_HEXADECIMAL: Final = re.compile(r"x(?:\{([0-9a-fA-F]+)\}|([0-9a-fA-F]{2}))")
_OCTAL: Final = re.compile(r"0[0-7]{0,2}|[1-7][0-7]{1,2}")
_PROPERTY: Final = re.compile(r"[pP](?:\{(\^?)(\w+)\}|(\w))", re.ASCII)
_POSIX: Final = re.compile(r"\[:(\^?)(\w*):\]", re.ASCII)
_CONTROL: Final = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


class Look(Enum):
    """What a step asks of a place between two characters."""

    BEGIN = "A"
    END = "z"
    LINE_BEGIN = "^"
    LINE_END = "$"
    EDGE = "b"
    NO_EDGE = "B"


@frozen
class Fork:
    """Go on at both steps, told as distances from this one."""

    one: int
    other: int


Step = Matches | Look | Fork
Program = list[Step]


class NoPattern(ValueError):
    """The text is no regular expression, or one that is too large; says why."""


@frozen
class _Flags:
    fold: bool = False
    lines: bool = False
    dot_all: bool = False


def parse(pattern: str) -> Program:
    """The program of a pattern. Raises NoPattern."""
    reader = _Reader(pattern)
    program = reader.alternatives(_Flags(), 0)
    if reader.left:
        raise NoPattern(f"a ) at {reader.at} that closes nothing")
    return program


def _checked(program: Program) -> Program:
    if len(program) > _MOST_STEPS:
        raise NoPattern(f"more than {_MOST_STEPS:,} steps")
    return program


def _either(one: Program, other: Program) -> Program:
    return _checked([Fork(1, len(one) + 2), *one, Fork(len(other) + 1, len(other) + 1), *other])


def _repeated(what: Program, least: int, most: int | None) -> Program:
    """So often, one after the other; without `most` as often as there is any."""
    if len(what) * max(least, most or 0) > _MOST_STEPS:
        raise NoPattern(f"more than {_MOST_STEPS:,} steps")
    if most is None:
        loop: Program = [Fork(1, len(what) + 2), *what, Fork(-len(what) - 1, -len(what) - 1)]
        return _checked([*what * least, *loop])
    rest: Program = []
    for _ in range(most - least):
        rest = [Fork(1, len(what) + len(rest) + 1), *what, *rest]
    return _checked([*what * least, *rest])


class _Reader:
    """A pattern, and how far it has been read."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._names: set[str] = set()
        self.at = 0

    @property
    def left(self) -> bool:
        """Whether there is more to read."""
        return self.at < len(self._pattern)

    def _take(self, text: str) -> bool:
        """Read this text, if it comes next."""
        found = self._pattern.startswith(text, self.at)
        self.at += len(text) if found else 0
        return found

    def _matched(self, what: re.Pattern[str]) -> re.Match[str] | None:
        found = what.match(self._pattern, self.at)
        self.at = self.at if found is None else found.end()
        return found

    def _next(self, where: str) -> str:
        if not self.left:
            raise NoPattern(f"the pattern ends {where}")
        self.at += 1
        return self._pattern[self.at - 1]

    # --- what stands beside, and behind, each other ----------------------------------------------------------

    def alternatives(self, flags: _Flags, depth: int) -> Program:
        """What stands between bars, up to the end or a closing parenthesis."""
        if depth > _DEEPEST:
            raise NoPattern(f"more than {_DEEPEST} groups in each other")
        found, flags = self._sequence(flags, depth)
        while self._take("|"):
            other, flags = self._sequence(flags, depth)
            found = _either(found, other)
        return found

    def _sequence(self, flags: _Flags, depth: int) -> tuple[Program, _Flags]:
        """One thing after the other; flags that are set within hold up to the end of the group."""
        done: Program = []
        while self.left and self._pattern[self.at] not in "|)":
            if self._take("\\Q"):
                text, _, _ = self._pattern[self.at :].partition("\\E")
                self.at += len(text) + len("\\E")
                pieces = [[_literal(char, flags)] for char in text]
                done += [step for piece in pieces[:-1] for step in piece]
                done += self._times(list(pieces[-1])) if pieces else []
                continue
            changed = self._changed(flags)
            if changed is not None:
                flags = changed
                continue
            done = _checked([*done, *self._times(self._one(flags, depth))])
        return done, flags

    def _times(self, what: Program) -> Program:
        """What was read just now, as often as what follows says."""
        bounds = self._bounds()
        if bounds is None:
            return what
        self._take("?")
        if self._bounds() is not None:
            raise NoPattern(f"a repetition of a repetition at {self.at}")
        return _repeated(what, *bounds)

    def _bounds(self) -> tuple[int, int | None] | None:
        for sign, bounds in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self._take(sign):
                return bounds
        found = self._matched(_REPEAT)
        if found is None:
            return None
        least = int(found[1])
        most = least if found[2] is None else int(found[3]) if found[3] else None
        if max(least, most or 0) > _MOST_REPEATS or (most is not None and most < least):
            raise NoPattern(f"{found[0]} is no number of times")
        return least, most

    # --- one thing -------------------------------------------------------------------------------------------

    def _one(self, flags: _Flags, depth: int) -> Program:
        if self._take("("):
            return self._group(flags, depth)
        if self._take("["):
            return [self._brackets(flags)]
        if self._bounds() is not None:
            raise NoPattern(f"nothing to be repeated before {self.at}")
        char = self._next("where something should stand")
        if char == "\\":
            return [self._escaped(flags)]
        if char == ".":
            return [_anything if flags.dot_all else _no_line_end]
        if char in "^$":
            alone = Look.BEGIN if char == "^" else Look.END
            return [Look(char) if flags.lines else alone]
        return [_literal(char, flags)]

    def _group(self, flags: _Flags, depth: int) -> Program:
        if self._take("?"):
            named = self._matched(_GROUP_NAME)
            if named is not None:
                if named[1] in self._names:
                    raise NoPattern(f"two groups are called {named[1]}")
                self._names.add(named[1])
            else:
                flags, end = self._flags(flags)
                if end != ":":
                    raise NoPattern("flags that end neither with : nor with )")
        found = self.alternatives(flags, depth + 1)
        if not self._take(")"):
            raise NoPattern("a ( that is not closed")
        return found

    def _changed(self, flags: _Flags) -> _Flags | None:
        """Flags set from here on, `(?i)`; None when that is not what comes next."""
        begin = self.at
        if self._take("(?") and self.left and self._pattern[self.at] in _FLAGS + "-)":
            changed, end = self._flags(flags)
            if end == ")":
                return changed
        self.at = begin
        return None

    def _flags(self, flags: _Flags) -> tuple[_Flags, str]:
        """Flags and what ends them."""
        value, said = True, False
        while True:
            char = self._next("among flags")
            if char in ":)":
                if not value and not said:
                    raise NoPattern("no flag behind a -")
                return flags, char
            said = char != "-"
            if char == "-" and value:
                value = False
            elif char in _FLAGS:
                changes = {"i": "fold", "m": "lines", "s": "dot_all"}
                flags = evolve(flags, **{changes[char]: value}) if char in changes else flags
            else:
                raise NoPattern(f"the flag {char!r} is unknown")

    # --- characters ------------------------------------------------------------------------------------------

    def _escaped(self, flags: _Flags) -> Step:
        """What stands behind a backslash."""
        for letter in "AzbB":
            if self._take(letter):
                return Look(letter)
        found = self._class()
        return _cased(found, flags) if found is not None else _literal(self._escaped_char(), flags)

    def _class(self) -> Matches | None:
        """A class by its letter or by its property; None when it is something else that was escaped."""
        char = self._pattern[self.at : self.at + 1]
        if char and char.lower() in classes.PERL:
            self.at += 1
            found = classes.PERL[char.lower()]
            return classes.inverted(found) if char.isupper() else found
        named = self._matched(_PROPERTY)
        if named is None:
            return None
        property_of = classes.unicode_class(named[2] or named[3])
        if property_of is None:
            raise NoPattern(f"no property is called {named[0][1:]}")
        odd = (named[0][0] == "P") != (named[1] == "^")
        return classes.inverted(property_of) if odd else property_of

    def _escaped_char(self) -> str:
        found = self._matched(_HEXADECIMAL)
        if found is not None:
            return _character(int(found[1] or found[2], 16))
        found = self._matched(_OCTAL)
        if found is not None:
            return _character(int(found[0], 8))
        char = self._next("behind a backslash")
        if char in _CONTROL:
            return _CONTROL[char]
        if char.isascii() and not char.isalnum():
            return char
        raise NoPattern(f"\\{char} is unknown")

    def _brackets(self, flags: _Flags) -> Matches:
        """A class in brackets, the first of which has been read."""
        inverted, parts, first = self._take("^"), list[Matches](), True
        while first or not self._take("]"):
            first = False
            parts.append(self._posix() or self._escaped_class() or self._range())
        found = _cased(classes.any_of(parts), flags)
        return classes.inverted(found) if inverted else found

    def _posix(self) -> Matches | None:
        named = self._matched(_POSIX)
        if named is None:
            return None
        if named[2] not in classes.POSIX:
            raise NoPattern(f"no class is called {named[2]}")
        return classes.inverted(classes.POSIX[named[2]]) if named[1] else classes.POSIX[named[2]]

    def _escaped_class(self) -> Matches | None:
        """A class behind a backslash; nothing has been read when there is none."""
        begin = self.at
        found = self._class() if self._take("\\") else None
        self.at = begin if found is None else self.at
        return found

    def _range(self) -> Matches:
        first = last = self._in_brackets()
        if self._pattern[self.at : self.at + 1] == "-" and self._pattern[self.at + 1 : self.at + 2] != "]":
            self.at += 1
            last = self._in_brackets()
        if last < first:
            raise NoPattern(f"no character is from {first!r} to {last!r}")
        return classes.span(first, last)

    def _in_brackets(self) -> str:
        char = self._next("in brackets")
        return self._escaped_char() if char == "\\" else char


def _character(number: int) -> str:
    if number > 0x10FFFF:
        raise NoPattern(f"no character has the number {number:x}")
    return chr(number)


def _anything(char: str) -> bool:
    return True


def _no_line_end(char: str) -> bool:
    return char != "\n"


def _cased(matches: Matches, flags: _Flags) -> Matches:
    return classes.folded(matches) if flags.fold else matches


def _literal(char: str, flags: _Flags) -> Matches:
    return _cased(classes.span(char, char), flags)
