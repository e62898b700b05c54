"""Text that is safe to print: names come from files, traces and other processes."""

from __future__ import annotations

_CONTROLS = (*range(9), *range(11, 32), *range(127, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A))
#: Characters that command a terminal, or turn the direction of a text: each is shown as its escape.
_VISIBLE = {code: f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" for code in _CONTROLS}


def visible(text: str) -> str:
    """Return the text with control characters shown as escapes (`\\x1b`), so that no name commands the terminal.

    Newlines and tabs stay.
    """
    return text if text.isprintable() else text.translate(_VISIBLE)
