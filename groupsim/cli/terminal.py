"""The console on which commands print."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence

from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderableType, RenderHook
from rich.segment import Segment

from groupsim.protocol.values import frozen
from groupsim.scenarios.language.printable import visible


class Terminal(Console):
    """A console without highlighting and without blanks at the ends of lines.

    It prints control characters as escapes, because names come from files, traces and other processes.
    """

    def __init__(self, *, soft_wrap: bool = False, stderr: bool = False) -> None:
        super().__init__(highlight=False, soft_wrap=soft_wrap, stderr=stderr)
        self.push_render_hook(_Trimming())


def width_of(console: Console) -> int | None:
    """Return the maximal width of lines; None for a pipe without COLUMNS."""
    return console.width if console.is_terminal or "COLUMNS" in os.environ else None


def shortened(text: str, width: int | None) -> str:
    """Return the text, or as much of it as has room, with an ellipsis; None is no limit."""
    return text if width is None or len(text) <= width else text[: width - 1] + "…"


class _Trimming(RenderHook):
    """Removes the blanks with which rich fills the lines of wrapped text; they disturb `diff` and pasted output."""

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        return [_Trimmed(one) for one in renderables]


@frozen
class _Trimmed:
    """A renderable without blanks at the ends of its lines."""

    whole: RenderableType

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        line: list[Segment] = []
        for part in _by_lines(console.render(self.whole, options)):
            if part.text != "\n":
                line.append(part)
                continue
            yield from _stripped(line)
            yield part
            line.clear()
        yield from line


def _by_lines(segments: Iterable[Segment]) -> Iterator[Segment]:
    """Yield the segments, split so that each newline is a segment of its own."""
    for segment in segments:
        for number, text in enumerate([segment.text] if segment.control else segment.text.split("\n")):
            if number:
                yield Segment.line()
            if text or segment.control:
                yield segment if segment.control else segment._replace(text=visible(text))


def _stripped(line: Sequence[Segment]) -> Sequence[Segment]:
    """Return a line's segments without the blanks at its end."""
    for last in range(len(line) - 1, -1, -1):
        kept = line[last] if line[last].control else line[last]._replace(text=line[last].text.rstrip(" "))
        if kept.text or kept.control:
            return [*line[:last], kept]
    return ()
