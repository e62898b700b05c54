"""Keep docs/textbook.md true: run the commands that it shows, and put what they print in its place.

python tools/refresh_textbook.py            write the page, half a minute
python tools/refresh_textbook.py --check    exit 1 when the page shows something else

A block of the page is a comment with its commands, and what is kept of their output:

    <!-- shown
    groupsim run four-scenes :: from "g1 · formed" before "        |0:00"; line "duplicates"
    -->

`from A before B` keeps the lines from the first that contains A to the one before B, `from A through B` that one too,
`from A` the rest; `line A` keeps the first line that contains A; `first N` keeps N lines; without `::` all is kept, and
after a `::` alone nothing. Each text is looked for after what was kept before it. The commands of a block run in one
empty folder, in which `docs` leads to the documentation. Beside `groupsim` there is `ls FOLDER`. A block that begins
with `<!-- shown, long` takes seconds; `make test` leaves it to `make slow`.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import chdir
from pathlib import Path

from attrs import frozen
from kept_page import keep
from typer.testing import CliRunner

from groupsim.cli.app import app

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGE = DOCS / "textbook.md"
BLOCK = re.compile(
    r"(?P<head><!-- shown(?P<long>, long)?\n(?P<commands>.*?)-->\n```console\n)(?P<shown>.*?)(?P<tail>```\n)", re.DOTALL
)
CONTENTS = re.compile(r"(<!-- contents: .*? -->\n).*?(<!-- contents end -->)", re.DOTALL)
HEADING = re.compile(r"^### (?P<title>.*)$", re.MULTILINE)
TERMINAL = {"COLUMNS": "100", "NO_COLOR": "1"}
CUT = "..."


class BadBlock(Exception):
    """A block of the page cannot be made; the message names its command."""


@frozen
class Command:
    """A command as it is typed, and the excerpts that are kept of its output (None: all)."""

    text: str
    excerpts: tuple[tuple[str, ...], ...] | None

    @classmethod
    def read(cls, line: str) -> Command:
        """Read one line of a block's comment."""
        text, marked, kept = line.partition(" ::")
        if not marked:
            return cls(text.strip(), None)
        return cls(text.strip(), tuple(tuple(shlex.split(part)) for part in kept.split(";") if part.strip()))

    def output(self) -> list[str]:
        """What the command prints. Raises BadBlock where it fails."""
        words = shlex.split(self.text)
        if words[0] == "ls":
            return sorted(os.listdir(words[1]))
        result = CliRunner(env=TERMINAL).invoke(app, words[1:])
        if result.exit_code:
            raise BadBlock(f"{self.text} ends with exit code {result.exit_code}:\n{result.output}")
        return [line.rstrip() for line in result.stdout.rstrip().splitlines()]

    def kept(self) -> Iterator[str]:
        """The lines that the page shows, with a mark where others were left out. Raises BadBlock."""
        lines = self.output()
        if self.excerpts is None:
            yield from lines
            return
        at = 0
        for excerpt in self.excerpts:
            begin, end = self._span(excerpt, lines, at)
            if begin > at:
                yield CUT
            yield from lines[begin:end]
            at = end
        if self.excerpts and at < len(lines):
            yield CUT

    def _span(self, excerpt: Sequence[str], lines: Sequence[str], at: int) -> tuple[int, int]:
        def find(text: str, after: int) -> int:
            for number in range(after, len(lines)):
                if text in lines[number]:
                    return number
            raise BadBlock(f"{self.text}: no line contains {text!r}:\n" + "\n".join(lines))

        match list(excerpt):
            case ["first", count]:
                return at, at + int(count)
            case ["line", text]:
                begin = find(text, at)
                return begin, begin + 1
            case ["from", text]:
                return find(text, at), len(lines)
            case ["from", text, "before", other]:
                begin = find(text, at)
                return begin, find(other, begin + 1)
            case ["from", text, "through", other]:
                begin = find(text, at)
                return begin, find(other, begin + 1) + 1
        raise BadBlock(f"{self.text}: {shlex.join(excerpt)} is no excerpt")


def shown(commands: str) -> str:
    """What a block shows: its commands, each with what is kept of its output. Raises BadBlock."""
    lines: list[str] = []
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        Path("docs").symlink_to(DOCS)
        for command in map(Command.read, filter(str.strip, commands.splitlines())):
            lines.append(f"$ {command.text}")
            lines.extend(command.kept())
    return "".join(f"{line}\n" for line in lines)


def blocks(text: str) -> list[re.Match[str]]:
    """The blocks of a page."""
    return list(BLOCK.finditer(text))


def contents(text: str) -> str:
    """A table of the ideas, each with the first command that shows it."""
    rows = ["| idea | command |", "| --- | --- |"]
    headings = list(HEADING.finditer(text))
    for heading, after in zip(headings, [*headings[1:], None], strict=True):
        section = text[heading.end() : after.start() if after else len(text)]
        typed = re.search(r"^\$ (.*)$", section, re.MULTILINE)
        title = heading["title"]
        anchor = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
        rows.append(f"| [{title}](#{anchor}) | {f'`{typed[1]}`' if typed else '–'} |")
    return "\n".join(rows) + "\n"


def refreshed(text: str, made: Callable[[str], str] = shown) -> str:
    """The page with what its commands print now, and its table of contents."""
    new = BLOCK.sub(lambda found: found["head"] + made(found["commands"]) + found["tail"], text)
    return CONTENTS.sub(lambda found: found[1] + contents(new) + found[2], new)


if __name__ == "__main__":
    sys.exit(keep(PAGE, refreshed, __doc__))
