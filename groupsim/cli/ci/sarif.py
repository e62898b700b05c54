"""Findings as SARIF 2.1.0, which code scanning reads.

Source: OASIS, Static Analysis Results Interchange Format (SARIF) Version 2.1.0.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import metadata
from pathlib import Path, PurePath
from typing import Any

from groupsim.cli.ci.remark import UNREADABLE, Remark
from groupsim.scenarios.lint import RULES

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif(found: Iterable[Remark]) -> dict[str, Any]:
    """Return the SARIF document of one linter run: its rules, and a result for each finding."""
    rules: dict[str, dict[str, Any]] = {}
    for rule in RULES:
        rules.setdefault(rule.id, _rule(rule.id, rule.about, f"{rule.reason} [{rule.source}]", rule.severity))
    rules[UNREADABLE] = _rule(UNREADABLE, "an unreadable file", "it has neither a scenario nor settings", "error")
    numbers = {name: number for number, name in enumerate(rules)}
    driver = {"name": "groupsim", "version": metadata.version("groupsim"), "rules": list(rules.values())}
    results = [_result(one, numbers) for one in found]
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]}


def _rule(name: str, about: str, reason: str, severity: str) -> dict[str, Any]:
    return {
        "id": name,
        "shortDescription": {"text": about},
        "fullDescription": {"text": reason},
        "defaultConfiguration": {"level": severity},
    }


def _result(one: Remark, numbers: dict[str, int]) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": {"uri": _uri(one.file)}}
    if one.line:
        place["region"] = {"startLine": one.line}
    return {
        "ruleId": one.rule,
        "ruleIndex": numbers[one.rule],
        "level": one.severity,
        "message": {"text": one.text},
        "locations": [{"physicalLocation": place}],
    }


def _uri(file: str) -> str:
    """Return the file's path relative to the working directory if it lies below, else its URI."""
    path = Path(file)
    if path.is_absolute() and path.is_relative_to(Path.cwd()):
        path = path.relative_to(Path.cwd())
    return path.as_uri() if path.is_absolute() else PurePath(path).as_posix()
