"""The `.properties` format of Java, as far as a Kafka client's configuration uses it, and which keys hold secrets.

Lines are `key=value`, `key: value` or `key value`; `#` and `!` begin a comment; a backslash at the end joins the next
line; backslash escapes as in `java.util.Properties`. Values stay text: what type a key has is known to the members.

A secret's value is dropped where it is read, before anything else sees it: neither a trace, nor a report, nor an error
can print what is not there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

WITHHELD = "[withheld]"

_SECRET = re.compile(
    r"(password|secret|credential|private\.key|keystore\.key|keystore\.certificate|jaas|token|api[._]?key|passphrase"
    r"|basic\.auth|bearer\.auth|oauthbearer|saslkey|access\.key|user\.info|username)",
    re.IGNORECASE,
)
_PAIR = re.compile(r"((?:\\.|[^\\=:\s])+)\s*[=:]?\s*(.*)", re.DOTALL)
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def is_secret(key: str) -> bool:
    """Whether a setting's value must never be shown."""
    return _SECRET.search(key) is not None


def without_secrets(properties: Mapping[str, object]) -> dict[str, object]:
    """The same settings with the value of every secret replaced."""
    return {key: WITHHELD if is_secret(key) else value for key, value in properties.items()}


def parse_properties(text: str) -> dict[str, object]:
    """Settings of a .properties text; the last of several equal keys wins, as in Java.

    Raises ValueError naming the line that has no key.
    """
    return {key: value for _, key, value in entries(text)}


def entries(text: str) -> Iterator[tuple[int, str, str]]:
    """Line number, key and value of each setting of a .properties text, equal keys included.

    Raises ValueError naming the line that has no key.
    """
    for number, line in _logical_lines(text):
        match = _PAIR.fullmatch(line)
        if match is None:
            raise ValueError(f"line {number} of the properties has no key: write key=value")
        key = _unescape(match[1])
        yield number, key, WITHHELD if is_secret(key) else _unescape(match[2].rstrip())


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines with continuations joined, blanks and comments left out, with the number of the first line."""
    held, began = "", 0
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.lstrip()
        if not held:
            if not line or line[0] in "#!":
                continue
            began = number
        if (len(line) - len(line.rstrip("\\"))) % 2:
            held += line[:-1]
            continue
        yield began, held + line
        held = ""
    if held:
        yield began, held


def _unescape(text: str) -> str:
    def one(match: re.Match[str]) -> str:
        if match[1]:
            return chr(int(match[1], 16))
        return _ESCAPES.get(match[2], match[2])

    return re.sub(r"\\(?:u([0-9a-fA-F]{4})|(.))", one, text, flags=re.DOTALL)
