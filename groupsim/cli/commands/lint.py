"""`groupsim lint`: settings without effect, contradictions, and settings outside the broker's range.

Exit codes: 0 at most notes, 1 an error or a warning (`--strict`: or a note), 2 an unreadable file.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import field
from rich.text import Text

from groupsim.cli import as_json
from groupsim.cli.ci.lint_formats import FORMATS, JSON, TEXT, check_format
from groupsim.cli.ci.remark import remarks
from groupsim.cli.commands.lint_input import Options, Report, report_of
from groupsim.cli.error_report import show_problems
from groupsim.cli.exits import BAD_INPUT, SUCCESS, Trouble
from groupsim.cli.terminal import Terminal
from groupsim.protocol.values import frozen
from groupsim.scenarios.language.printable import visible
from groupsim.scenarios.language.problems import ERROR, NOTE, WARNING, Problem, ScenarioError
from groupsim.scenarios.lint import RULES, LintFinding

FOUND = 1
_WIDTH = 80
_SHOWN = 4
_COLOURS = {ERROR: "red", WARNING: "yellow", NOTE: "cyan"}


def lint(files: list[str], options: Options, strict: bool, wanted: str) -> int:
    """Check every file and the broker's settings, print in a format of `ci/lint_formats.py`; return the exit code."""
    check_format(wanted)
    if not files:
        raise Trouble("no file is given", "write `groupsim lint FILE`, `-` for standard input, or --rules")
    done = [_judged(file, options) for file in files]
    if options.broker_properties is not None or options.settings:
        done.append(_Judged(options.broker_name, report=options.broker_report()))
    code = _exit_code(done, strict)
    if wanted == JSON:
        print(as_json.text(_document(done, code)))
    elif wanted == TEXT:
        console = Terminal(soft_wrap=True)
        for one in done:
            _print(console, one)
    else:
        print(FORMATS[wanted]([(one.file, tuple(remarks(one.report.findings, one.problems))) for one in done]))
    return code


@frozen
class _Judged:
    """A file with its findings, or with the problems that make it unreadable."""

    file: str
    report: Report = field(factory=Report)
    problems: tuple[Problem, ...] = ()


def _judged(file: str, options: Options) -> _Judged:
    try:
        return _Judged(file, report=report_of(file, options))
    except ScenarioError as error:
        return _Judged(file, problems=error.problems)


def _exit_code(done: list[_Judged], strict: bool) -> int:
    if any(one.problems for one in done):
        return BAD_INPUT
    grave = (ERROR, WARNING, NOTE) if strict else (ERROR, WARNING)
    return FOUND if any(finding.severity in grave for one in done for finding in one.report.findings) else SUCCESS


def _document(done: list[_Judged], code: int) -> dict[str, Any]:
    files = [
        {
            "file": one.file,
            "kind": one.report.kind,
            "judged_as": one.report.judged_as,
            "not_judged": list(one.report.not_judged),
            "profiles": list(one.report.profiles),
            "findings": [as_json.plain(finding) for finding in one.report.findings],
            "problems": as_json.plain(one.problems),
        }
        for one in done
    ]
    return {"schema": as_json.SINCE_SEVERITY, "files": files, "exit_code": code}


# --- for people --------------------------------------------------------------------------------------------------


def _print(console: Terminal, one: _Judged) -> None:
    if one.problems:
        print(visible(show_problems(one.problems)), file=sys.stderr)
        return
    for finding in one.report.findings:
        _print_finding(console, finding, one.report.judged_as)
    as_what = f", as {one.report.judged_as}" if one.report.judged_as else ""
    if one.report.profiles:
        as_what += f", without a profile and with {', '.join(one.report.profiles)}"
    silent = _not_judged(one.report.not_judged)
    if one.report.findings:
        console.print(f"{one.file}{as_what}: {_counted(one.report.findings)}{silent}")
    elif one.report.empty:
        console.print(Text(f"{one.file}{as_what}: no setting in it", "yellow"))
    else:
        console.print(Text(f"{one.file}{as_what}: ok{silent}", "green"))


def _not_judged(names: tuple[str, ...]) -> str:
    """Return the suffix that names the settings without a rule."""
    if not names:
        return ""
    shown = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
    return f"; not judged: {shown}"


def _print_finding(console: Terminal, finding: LintFinding, judged_as: str) -> None:
    place = finding.place
    where = f"{place.file}:{place.line}" if place.line else place.file
    width = min(console.width, _WIDTH) if console.is_terminal else 0
    head = f"{where}: {finding.severity} {finding.rule}: {finding.message}{_concerned(finding.subjects)}"
    first, *rest = textwrap.wrap(head, width, subsequent_indent="    ") if width else [head]
    console.print(Text(first, _COLOURS[finding.severity]))
    for line in rest:
        console.print(Text(line, _COLOURS[finding.severity]))
    for label, text in (("why", f"{finding.reason} [{finding.source}]"), ("do", finding.remedy)):
        begin = f"    {label + ':':<5}"
        print_width = min(console.width, _WIDTH) if console.is_terminal else _WIDTH
        sentence, *commands = text.split("\n")
        console.print(Text(textwrap.fill(sentence, print_width, initial_indent=begin, subsequent_indent=" " * 9)))
        for command in commands:  # unwrapped, so that it can be pasted into a shell
            console.print(Text(" " * 9 + command))


def _concerned(members: tuple[str, ...]) -> str:
    """Return the members that one finding concerns, in brackets; nothing for a single one."""
    if not members:
        return ""
    shown = ", ".join(members[:_SHOWN]) + (f" and {len(members) - _SHOWN} more" if len(members) > _SHOWN else "")
    return f" (members {shown})"


def _counted(findings: tuple[LintFinding, ...]) -> str:
    """Count findings by severity: `1 error, 2 warnings`."""
    counts = {level: sum(one.severity == level for one in findings) for level in (ERROR, WARNING, NOTE)}
    return ", ".join(f"{n} {level}{'' if n == 1 else 's'}" for level, n in counts.items() if n)


def rules(wants_json: bool) -> int:
    """Print every rule: id, severity, subject, reason and source."""
    if wants_json:
        print(as_json.text({"schema": as_json.SCHEMA, "rules": [_rule(rule) for rule in RULES]}))
        return SUCCESS
    console = Terminal(soft_wrap=True)
    for rule in RULES:
        console.print(Text.assemble((rule.id, "bold"), f" ({rule.severity})"))
        for text in (rule.about, f"{rule.reason} [{rule.source}]"):
            console.print(Text(textwrap.fill(text, _WIDTH, initial_indent="    ", subsequent_indent="    ")))
    return SUCCESS


def _rule(rule: Any) -> Mapping[str, str]:
    names = ("id", "severity", "about", "reason", "source")
    return {name: getattr(rule, name) for name in names}


def options_of(
    client: str | None,
    broker: str | None,
    broker_properties: Path | None,
    settings: list[str] | None,
    target: str | None = None,
) -> Options:
    """Build the options for client, broker and target. Raises Trouble for invalid ones."""
    return Options.of(client, broker, broker_properties, settings or [], target)
