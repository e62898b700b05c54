"""`groupsim explain`: what the lines of logs say of an incident, and the scenes that are like it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from groupsim.cli.exits import SUCCESS, Trouble
from groupsim.cli.terminal import Terminal
from groupsim.logs.reading.incident import Finding, judge
from groupsim.logs.reading.records import Record, read, records
from groupsim.logs.reading.signs import place_of

_GROUPS = 5
"""Maximal number of groups that are printed; --json has all."""
_LINE = 240
"""Maximal number of characters of a quoted line; of a longer one its start, and what decides, are shown."""
_START = 70


def explain(paths: Sequence[str], wants_json: bool) -> int:
    """Print what the logs say of each group, the most decisive first; return the exit code.

    Raises Trouble for a path that cannot be read, and for logs without a line that decides.
    """
    with Console(stderr=True).status("reading the logs"):
        found = [record for path in paths for record in _records(path)]
    judged = judge(found)
    if not judged:
        raise Trouble(
            "no line of these logs says why a group rebalanced or lost a member",
            "give logs of the group's coordinator or of its clients (librdkafka with `debug=cgrp`)",
        )
    if wants_json:
        from groupsim.cli import as_json  # with all that a story is made of

        groups = [[_plain(one) for one in findings] for findings in judged]
        print(as_json.text({"schema": as_json.SCHEMA, "incident": groups}))
        return SUCCESS
    console = Terminal()
    for findings in judged[:_GROUPS]:
        _print_group(console, findings)
    if len(judged) > _GROUPS:
        console.print(f"{len(judged) - _GROUPS} more groups (--json)")
    return SUCCESS


def _records(path: str) -> list[Record]:
    if path == "-":
        return records("stdin", sys.stdin)
    try:
        return read(Path(path))
    except OSError as error:
        raise Trouble(
            f"cannot read {path}: {error.strerror or error}", "give a log file, a folder of logs, or -"
        ) from error


def _print_group(console: Terminal, findings: Sequence[Finding]) -> None:
    head, *others = findings
    named = f"{head.group}: " if head.group else ""
    console.print(Text.assemble((named, "bold cyan"), (head.says, "bold")))
    parts = [
        (f"{_place(head)}  ", _quoted(head)),
        ("why   ", head.why),
        ("do    ", head.do),
    ]
    if head.sign.scenes:
        parts.append(("like  ", " · ".join(f"groupsim run {scene}" for scene in head.sign.scenes)))
    if others:
        parts.append(("also  ", ", ".join(f"{one.sign.name} {one.count} × ({_place(one)})" for one in others)))
    for label, text in parts:
        console.print(Padding(Text.assemble((label, "dim"), text), (0, 0, 0, 4), expand=False))


def _quoted(finding: Finding) -> str:
    line = finding.first.line
    if len(line) <= _LINE:
        return line
    at = place_of(finding.sign, line)
    if at <= _LINE // 2:
        return f"{line[:_LINE]} …"
    end = at + _LINE - _START
    return f"{line[:_START]} … {line[at:end]}{' …' if end < len(line) else ''}"


def _place(finding: Finding) -> str:
    return f"{finding.first.file}:{finding.first.number}"


def _plain(finding: Finding) -> dict[str, object]:
    return {
        "group": finding.group or None,
        "sign": finding.sign.name,
        "members": list(finding.who),
        "says": finding.says,
        "why": finding.why,
        "do": finding.do,
        "file": finding.first.file,
        "line": finding.first.number,
        "text": finding.first.line,
        "count": finding.count,
        "scenes": list(finding.sign.scenes),
    }
