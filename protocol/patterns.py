"""Regular expressions that a client sends to a broker: RE2/J's dialect, matched by google-re2.

Kafka's broker compiles them with RE2/J, whose time is linear in pattern and text. RE2 is the same dialect; two tables
here hold its differences in messages and syntax. Python's `re` is another dialect, and might not terminate.

Sources: RE2/J 1.8 (`Parser`, `PatternSyntaxException`), https://github.com/google/re2/wiki/Syntax.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

DEEPEST: Final = 1_000
"""The deepest nesting of groups. RE2/J has no limit but the stack of its thread."""

# RE2's messages → RE2/J's `getDescription`, which Kafka puts into its own messages.
_DESCRIPTIONS: Final[Mapping[str, str]] = {
    "bad repetition operator": "invalid nested repetition operator",
    "invalid character class range": "invalid character class range",
    "invalid escape sequence": "invalid escape sequence",
    "invalid named capture group": "invalid named capture",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid repetition size": "invalid repeat count",
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "no argument for repetition operator": "missing argument to repetition operator",
    "trailing \\": "trailing backslash at end of expression",
    "unexpected )": "regexp/syntax: internal error",
}
_LOOK_BEHIND: Final = ("invalid perl operator: (?<=", "invalid perl operator: (?<!")  # a name to RE2/J

# The pieces of a pattern, as far as RE2 accepts more than RE2/J: quotations, escapes and classes are skipped.
_PIECE: Final = re.compile(
    r"\\Q.*?(?:\\E|\Z)"
    r"|(?P<any_byte>\\C)"
    r"|\\."
    r"|\[\^?\]?(?:\[:\^?\w*:\]|\\.|[^\]\\])*\]"
    r"|\(\?P?<(?P<name>[^>=!]*)>"
    r"|\{(?P<count>\d{9,})(?:,\d*)?\}|\{\d+,(?P<most>\d{9,})\}"
    r"|(?P<open>\()|(?P<close>\))",
    re.DOTALL | re.ASCII,
)
_NAME: Final = re.compile(r"\w+", re.ASCII)


class InvalidPattern(ValueError):
    """RE2/J rejects the pattern; `description` is RE2/J's reason."""

    def __init__(self, description: str) -> None:
        super().__init__(description)
        self.description = description


def compile_pattern(pattern: str) -> Callable[[str], bool]:
    """Return a function that checks whether a whole text matches.

    Raises InvalidPattern, and ImportError that names the extra when google-re2 is not installed.
    """
    re2 = _google_re2()
    _check_what_re2_would_take(pattern)
    options = re2.Options()
    options.log_errors = False
    try:
        full_match = re2.compile(pattern, options).fullmatch
    except re2.error as error:
        raise InvalidPattern(_described(error)) from None
    return lambda text: full_match(text) is not None


def _google_re2() -> Any:
    try:
        import re2
    except ImportError:
        message = 'regular expressions of a broker need google-re2: run `pip install "groupsim[patterns]"`'
        raise ImportError(message, name="re2") from None
    return re2


def _described(error: Exception) -> str:
    (words,) = error.args
    text = words.decode() if isinstance(words, bytes) else str(words)
    if text.startswith(_LOOK_BEHIND):
        return _DESCRIPTIONS["invalid named capture group"]
    return next((ours for theirs, ours in _DESCRIPTIONS.items() if text.startswith(theirs)), text)


def _check_what_re2_would_take(pattern: str) -> None:
    """Raise InvalidPattern for syntax that RE2 accepts and RE2/J does not, and for groups nested too deep."""
    names: set[str] = set()
    depth = 0
    for piece in _PIECE.finditer(pattern):
        kind, text = piece.lastgroup, piece[piece.lastgroup or 0]
        if kind == "any_byte":
            raise InvalidPattern("invalid escape sequence")
        if kind in ("count", "most"):
            raise InvalidPattern("invalid repeat count")
        if kind == "name" and not _NAME.fullmatch(text):
            raise InvalidPattern("invalid named capture")
        if kind == "name" and text in names:
            raise InvalidPattern("duplicate capture group name")
        if kind == "name":
            names.add(text)
        depth += {"open": 1, "name": 1, "close": -1}.get(kind or "", 0)
        if depth > DEEPEST:
            raise InvalidPattern(f"more than {DEEPEST} groups in each other")
