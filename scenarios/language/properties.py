"""Read Java's `.properties` format with line numbers, and withhold the values of secrets.

javaproperties reads the format; this module adds the line of each setting. Values stay text: the members know the
type of each key.

A secret's value is dropped as soon as it is read, so that no trace, report or error can print it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from javaproperties import InvalidUEscapeError, KeyValue, parse

WITHHELD = "[withheld]"

_SECRET = re.compile(
    r"(password|secret|credential|private\.key|keystore\.key|keystore\.certificate|jaas|token|api[._]?key|passphrase"
    r"|basic\.auth|bearer\.auth|oauthbearer|saslkey|access\.key|user\.info|username)",
    re.IGNORECASE,
)
_LINE_END = re.compile(r"\r\n|\r|\n")
_TRAILING_BLANKS = re.compile(r"(?<!\\)[ \t\f]+(?=[\r\n]|\Z)")


def is_secret(key: str) -> bool:
    """Return whether a setting's value must never be shown."""
    return _SECRET.search(key) is not None


def without_secrets(properties: Mapping[str, object]) -> dict[str, object]:
    """Return the settings with the value of every secret replaced."""
    return {key: WITHHELD if is_secret(key) else value for key, value in properties.items()}


def parse_properties(text: str) -> dict[str, object]:
    """Parse a .properties text; the last of several equal keys wins, as in Java.

    Raises ValueError as `entries` does.
    """
    return {key: value for _, key, value in entries(text)}


def entries(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield line number, key and value of each setting of a .properties text, equal keys included.

    Blanks at the end of a value are left out, as Kafka's ConfigDef trims them. Raises ValueError naming the line that
    has no key, or an escape that java.util.Properties refuses.
    """
    line = 1
    try:
        for element in parse(_TRAILING_BLANKS.sub("", text)):
            if isinstance(element, KeyValue):
                if not element.key:
                    raise ValueError(f"line {line} of the properties has no key; write key=value")
                yield line, element.key, WITHHELD if is_secret(element.key) else element.value
            line += len(_LINE_END.findall(element.source))  # one setting can span several lines
    except InvalidUEscapeError:
        raise ValueError(
            f"line {line} of the properties has \\u without four hexadecimal digits; write \\\\u"
        ) from None
