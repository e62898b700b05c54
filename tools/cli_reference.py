"""Write docs/cli.md: every command with its arguments, options and examples, from the help of the command line itself.

python tools/cli_reference.py            write the page
python tools/cli_reference.py --check    exit 1 when the page differs
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kept_page import keep
from typer.main import get_command

from groupsim.cli.app import app

PAGE = Path(__file__).resolve().parent.parent / "docs" / "cli.md"
HEAD = """# The command line

<!-- Written by tools/cli_reference.py from the help of the commands. Do not edit: a test compares the two. -->

`groupsim COMMAND --help` prints what stands here. Start with `groupsim run demo`; `groupsim list` shows the library.
`-` is a scenario on standard input. `--json` prints one object, whose `schema` rises when a key changes its name or
meaning, also for what fails.

| exit code | meaning |
| --- | --- |
| 0 | success |
| 1 | an expectation failed, or `lint` found an error |
| 2 | bad input: the message names the place and the remedy |
| 3 | the run failed |
| 130 | ctrl-C |
"""
NEXT = "Next: [writing a scenario](writing-a-scenario.md), and [the Python API](api.md), which offers the same."


def page() -> str:
    """The whole page."""
    commands: dict[str, Any] = get_command(app).commands  # type: ignore[attr-defined]
    lines = [HEAD, "| command | what it does |", "| --- | --- |"]
    lines += [f"| [`{name}`](#groupsim-{name}) | {first_line(one)} |" for name, one in commands.items()]
    for name, one in commands.items():
        lines += ["", *section(name, one)]
    return "\n".join([*lines, "", NEXT, ""])


def first_line(command: Any) -> str:
    """The first paragraph of a command's help, on one line, for a cell."""
    return " ".join(inspect.cleandoc(command.help).partition("\n\n")[0].split()).replace("|", "\\|")


def section(name: str, command: Any) -> Iterator[str]:
    """One command: how it is typed, what its help says, and its parameters."""
    shown = [one for one in command.params if not getattr(one, "hidden", False)]
    arguments = [one for one in shown if one.param_type_name == "argument"]
    options = [one for one in shown if one.param_type_name == "option"]
    typed = " ".join(["groupsim", name, *(["[OPTIONS]"] if options else []), *map(argument, arguments)])
    yield from (f"## `groupsim {name}`", "", "```text", typed, "```", "", inspect.cleandoc(command.help), "")
    yield from ("| argument, option | meaning |", "| --- | --- |")
    for one in arguments:
        yield f"| `{argument(one).strip('[]')}` | {cell(one.help)} |"
    for one in options:
        names = ", ".join(f"`{text}`" for text in (*one.opts, *one.secondary_opts))
        value = (one.metavar or "").strip().replace("|", " or ")
        default = one.default if isinstance(one.default, str | int) and not isinstance(one.default, bool) else None
        known = "" if default in (None, "") or not value else f" Default: `{default}`."
        yield f"| {names}{f' `{value}`' if value else ''} | {cell(one.help)}{known} |"


def argument(one: Any) -> str:
    """An argument as a usage line shows it."""
    word = (one.metavar or one.name.upper()).strip("[]").replace("…", "").replace("|", " or ")
    return word + ("..." if one.nargs == -1 else "") if one.required else f"[{word}{'...' if one.nargs == -1 else ''}]"


def cell(text: str | None) -> str:
    """A help text as a cell of a table."""
    return re.sub(r"\s+", " ", text or "").strip().replace("|", "\\|")


if __name__ == "__main__":
    sys.exit(keep(PAGE, lambda text: page(), __doc__))
