"""Regular expressions that a client sends to a broker: RE2/J's dialect, matched by google-re2.

Kafka's broker compiles them with RE2/J, whose time is linear in pattern and text. RE2 is the same dialect; two tables
here hold its differences in messages and syntax. Python's `re` is another dialect, and might not terminate.

Sources: RE2/J 1.8 (`Parser`, `PatternSyntaxException`), https://github.com/google/re2/wiki/Syntax.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from groupsim.protocol.values import frozen

DEEPEST: Final = 1_000
"""The deepest nesting of groups. RE2/J has no limit but the stack of its thread."""
LONGEST: Final = 50_000
"""The longest pattern. RE2/J needs nine minutes for one of a million letters, and blocks its coordinator for them."""
LARGEST: Final = 50_000
"""The largest program of a pattern, in RE2's instructions: it bounds what one name costs."""

_LONG: Final = 2_000  # a longer pattern is read by RE2 first, in linear time

# RE2's messages → RE2/J's `getDescription`, which Kafka puts into its own messages.
_DESCRIPTIONS: Final[Mapping[str, str]] = {
    "bad repetition operator": "invalid nested repetition operator",
    "invalid character class range": "invalid character class range",
    "invalid escape sequence": "invalid escape sequence",
    "invalid UTF-8": "invalid escape sequence",  # RE2 at the end of `\x{`
    "invalid named capture group": "invalid named capture",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid repetition size": "invalid repeat count",
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "no argument for repetition operator": "missing argument to repetition operator",
    "trailing \\": "trailing backslash at end of expression",
    "unexpected )": "regexp/syntax: internal error",
}
_OPEN: Final = ("missing )", "missing ]", "trailing \\", "invalid UTF-8")  # what the rest of the pattern may complete
_LOOK_BEHIND: Final = ("invalid perl operator: (?<=", "invalid perl operator: (?<!")  # a name to RE2/J

# The pieces of a pattern, as far as RE2 accepts more than RE2/J: quotations, escapes and classes are skipped.
_PIECE: Final = re.compile(
    r"\\Q.*?(?:\\E|\Z)"
    r"|(?P<any_byte>\\C)"
    r"|\\[pPx]\{[^}]*\}?"
    r"|(?P<stacked>\{(?!\d+(?:,\d*)?\})(?:[*+?]|\{(?:0|[1-9]\d{0,2}|1000)(?:,\d*)?\}))"
    r"|\\."
    r"|\[\^?\]?(?:\[:\^?\w*:\]|\\.|[^\]\\])*\]"
    r"|\[.*"
    r"|\(\?P?<(?P<name>[^>=!]*)>"
    r"|\{(?P<count>\d{9,})(?:,\d*)?\}|\{\d+,(?P<most>\d{9,})\}"
    r"|(?P<open>\()|(?P<close>\))",
    re.DOTALL | re.ASCII,
)
_NAME: Final = re.compile(r"\w+", re.ASCII)
_LETTER: Final = re.compile(r"\\([^\x00-\x7f])")  # RE2/J takes it as the letter
_WORDS: Final[Mapping[str, str]] = {
    "any_byte": "invalid escape sequence",
    "count": "invalid repeat count",
    "most": "invalid repeat count",
    "stacked": "invalid nested repetition operator",  # RE2/J counts a brace that is a letter as a repetition
}


class InvalidPattern(ValueError):
    """RE2/J rejects the pattern; `description` is RE2/J's reason."""

    def __init__(self, description: str) -> None:
        super().__init__(description)
        self.description = description


@frozen
class CompiledPattern:
    """Checks whether a whole text matches. `size` is its number of instructions, by which its time grows."""

    full_match: Callable[[str], object]
    size: int

    def __call__(self, text: str) -> bool:
        """Return whether the whole text matches."""
        return self.full_match(text) is not None


def compile_pattern(pattern: str) -> CompiledPattern:
    """Return the pattern as a check of whole texts.

    Raises InvalidPattern, and ImportError that names the extra when google-re2 is not installed.
    """
    if len(pattern) > LONGEST:
        raise InvalidPattern(f"more than {LONGEST} characters")
    try:
        if len(pattern) <= _LONG:
            _check_what_re2_would_take(pattern)
        compiled = _compiled(_LETTER.sub(r"\1", pattern))
        if len(pattern) > _LONG:
            _check_what_re2_would_take(pattern)
    except _google_re2().error as error:
        raise InvalidPattern(_described(error)) from None
    if compiled.programsize > LARGEST:
        raise InvalidPattern(f"more than {LARGEST} instructions")
    return CompiledPattern(compiled.fullmatch, compiled.programsize)


def _compiled(pattern: str) -> Any:
    re2 = _google_re2()
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True  # else RE2 carries the groups of every thread, in quadratic time
    return re2.compile(pattern, options)


def _google_re2() -> Any:
    try:
        import re2
    except ImportError:
        message = 'regular expressions of a broker need google-re2: run `pip install "groupsim[patterns]"`'
        raise ImportError(message, name="re2") from None
    return re2


def _text_of(error: Exception) -> str:
    (words,) = error.args
    return words.decode() if isinstance(words, bytes) else str(words)


def _described(error: Exception) -> str:
    text = _text_of(error)
    if text.startswith(_LOOK_BEHIND):
        return _DESCRIPTIONS["invalid named capture group"]
    return next((ours for theirs, ours in _DESCRIPTIONS.items() if text.startswith(theirs)), text)


def _check_what_re2_would_take(pattern: str) -> None:
    """Raise InvalidPattern for syntax that RE2 accepts and RE2/J does not, and for groups nested too deep."""
    names: set[str] = set()
    depth = 0
    for piece in _PIECE.finditer(pattern):
        kind, text = piece.lastgroup or "", piece[piece.lastgroup or 0]
        why = _WORDS.get(kind)
        if kind == "name":
            why = _fault_of_name(text, names)
            names.add(text)
        depth += {"open": 1, "name": 1, "close": -1}.get(kind, 0)
        if depth > DEEPEST:
            why = f"more than {DEEPEST} groups in each other"
        if why is not None:
            _check_before(pattern[: piece.start()])
            raise InvalidPattern(why)


def _fault_of_name(name: str, known: set[str]) -> str | None:
    if not _NAME.fullmatch(name):
        return "invalid named capture"
    return "duplicate capture group name" if name in known else None


def _check_before(pattern: str) -> None:
    """Let RE2 find an error in what precedes a piece: the first error of a pattern is the answer."""
    try:
        _compiled(pattern)
    except _google_re2().error as error:
        if not _text_of(error).startswith(_OPEN):
            raise
