"""Commands that README and docs show can be typed: each names a command of groupsim, and options that it has."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer

from groupsim.cli.app import app

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
COMMANDS: Any = typer.main.get_command(app)
#: A line of a listing that types groupsim, by itself or at the end of a pipe.
TYPED = re.compile(r"^(?: {4}|\$ )?(?:\$ )?(?:[^#`\n]*\| *)?(?:\.venv/bin/)?groupsim (?P<rest>[a-z][^\n]*)$")
FENCED = re.compile(r"^```(?:sh|bash|console|text)?\n(.*?)^```", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"(?:^    .*\n)+", re.MULTILINE)


def commands_of(text: str) -> list[str]:
    """The arguments of groupsim in every line of a listing that types it; a line that ends in a backslash goes on."""
    listings = [*FENCED.findall(text), *INDENTED.findall(FENCED.sub("", text))]
    lines = [line for listing in listings for line in listing.replace("\\\n", " ").splitlines()]
    return [found["rest"] for line in lines if (found := TYPED.match(line))]


def wrong_in(command: str) -> str | None:
    """What cannot be typed: a command or an option that is not there."""
    words = shlex.split(re.split(r"\s[|>&]|\s#|\s{3,}|;", command)[0])
    known = COMMANDS.commands.get(words[0])
    if known is None:
        return f"there is no `groupsim {words[0]}`"
    options = {name for one in known.params for name in (*one.opts, *one.secondary_opts)} | {"--help", "-h"}
    strange = [word for word in words[1:] if word.startswith("--") and word.partition("=")[0] not in options]
    return f"`groupsim {words[0]}` has no {strange[0]}" if strange else None


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_commands_of_a_page_can_be_typed(page: Path) -> None:
    """Each command is one of groupsim's, and each option one of the command's."""
    found = {command: wrong_in(command) for command in commands_of(page.read_text(encoding="utf-8"))}
    assert {command: wrong for command, wrong in found.items() if wrong} == {}


def test_commands_are_found_and_refused() -> None:
    """A listing's commands are read from fences, indented lines and pipes; a wrong command or option is named."""
    fenced = "```sh\ngroupsim rum demo\n```\n"
    indented = "    helm template x | groupsim init - --nmae a\n    $ groupsim run demo --seed 7\n"
    assert [wrong_in(command) for command in commands_of(f"{fenced}\n{indented}")] == [
        "there is no `groupsim rum`",
        "`groupsim init` has no --nmae",
        None,
    ]
