"""Which characters a piece of a pattern stands for: RE2's classes by name, and those that brackets list.

Perl's classes and POSIX's are of ASCII alone, those of Unicode (`\\p{Lu}`) of all characters. Scripts are told by the
names of their characters, which is good enough for those listed in `_SCRIPTS`; others are none here.

Source: RE2/J (`CharGroup`, `UnicodeTables`), https://github.com/google/re2/wiki/Syntax.
"""

from __future__ import annotations

import string
import unicodedata
from collections.abc import Callable
from typing import Final

Matches = Callable[[str], bool]
"""Whether a character is meant."""


def _of(characters: str) -> Matches:
    there = frozenset(characters)
    return lambda char: char in there


def inverted(matches: Matches) -> Matches:
    """All other characters."""
    return lambda char: not matches(char)


_WORD = string.ascii_letters + string.digits + "_"
IS_WORD: Final = _of(_WORD)
PERL: Final = {"d": _of(string.digits), "s": _of("\t\n\f\r "), "w": IS_WORD}
"""The classes of one letter; capitals stand for all other characters."""

_PRINTABLE: Final = "".join(map(chr, range(0x20, 0x7F)))
POSIX: Final = {
    "alnum": _of(string.ascii_letters + string.digits),
    "alpha": _of(string.ascii_letters),
    "ascii": _of("".join(map(chr, range(0x80)))),
    "blank": _of("\t "),
    "cntrl": _of("".join(map(chr, [*range(0x20), 0x7F]))),
    "digit": _of(string.digits),
    "graph": _of(_PRINTABLE[1:]),
    "lower": _of(string.ascii_lowercase),
    "print": _of(_PRINTABLE),
    "punct": _of(string.punctuation),
    "space": _of(string.whitespace),
    "upper": _of(string.ascii_uppercase),
    "word": IS_WORD,
    "xdigit": _of(string.hexdigits),
}
"""`[:alpha:]` and its like."""

_KINDS: Final = {"C": "cfos", "L": "lmotu", "M": "cen", "N": "dlo", "P": "cdefios", "S": "ckmo", "Z": "lps"}
_CATEGORIES: Final = frozenset(kind + more for kind, of in _KINDS.items() for more in ("", *of))
_SCRIPTS: Final = {
    "Arabic": "ARABIC ",
    "Armenian": "ARMENIAN ",
    "Cyrillic": "CYRILLIC ",
    "Devanagari": "DEVANAGARI ",
    "Georgian": "GEORGIAN ",
    "Greek": "GREEK ",
    "Han": "CJK UNIFIED IDEOGRAPH",
    "Hangul": "HANGUL ",
    "Hebrew": "HEBREW ",
    "Hiragana": "HIRAGANA ",
    "Katakana": "KATAKANA ",
    "Latin": "LATIN ",
    "Thai": "THAI ",
}


def unicode_class(name: str) -> Matches | None:
    """The characters of a category or a script; None for a name that is neither."""
    if name == "Any":
        return lambda char: True
    if name in _CATEGORIES:
        return lambda char: unicodedata.category(char).startswith(name)
    if name in _SCRIPTS:
        return lambda char: unicodedata.name(char, "").startswith(_SCRIPTS[name])
    return None


def span(first: str, last: str) -> Matches:
    """The characters from one to another."""
    return lambda char: first <= char <= last


def any_of(parts: list[Matches]) -> Matches:
    """The characters of any of these."""
    return lambda char: any(part(char) for part in parts)


def folded(matches: Matches) -> Matches:
    """The characters, and those that differ from them in nothing but their case."""
    return lambda char: matches(char) or any(len(one) == 1 and matches(one) for one in (char.lower(), char.upper()))
