"""Cross-checks: published claims and the arithmetic of Kafka's defaults, each beside what simulations say.

    python tools/cross_checks.py            runs every experiment of docs/cross-checks, writes docs/cross-checks.md
    python tools/cross_checks.py join crash     runs these, and writes their rows

Exits 1 when a row is not what it says. The experiments are files, so that each can be looked at on its own:
`groupsim run docs/cross-checks/join.yaml --seed 7`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import cross_check_analytic
import cross_check_consumer
import cross_check_published
from cross_check_runs import FOLDER, Finding, Row, cells_of, experiment_of, settings

DOC = FOLDER.parent / "cross-checks.md"
BEGIN, END = "<!-- rows: begin (written by tools/cross_checks.py) -->", "<!-- rows: end -->"
ROWS: tuple[Row, ...] = (
    *cross_check_published.ROWS,
    *cross_check_analytic.ROWS,
    *cross_check_consumer.ROWS,
)
PARTS = (
    ("Classic and consumer protocol (5.1)", "5.1"),
    ("Eager and cooperative (5.2)", "5.2"),
    ("Static membership and rolling restarts (5.3)", "5.3"),
    ("What follows from the defaults (5.5)", "5.5"),
)


def found(row: Row, seeds: int | None = None) -> Finding:
    """Run a row's experiment and judge it."""
    if row.judge is None:
        return Finding(True, "–")
    return row.judge(cells_of(row.experiment, seeds))


def table(rows: Iterable[tuple[Row, Finding]]) -> list[str]:
    """Rows as a table."""
    lines = ["| claim, source | settings | expected | measured | verdict |", "| --- | --- | --- | --- | --- |"]
    return lines + [f"| {' | '.join(_cell(text) for text in texts(row, finding))} |" for row, finding in rows]


def texts(row: Row, finding: Finding) -> tuple[str, ...]:
    """The cells of a row."""
    link = ""
    if row.experiment:
        link = f"[{row.experiment}](cross-checks/{row.experiment}.yaml): {settings(experiment_of(row.experiment))}"
    joined = ", because " if row.verdict == "differs" else ": " if row.because else ""
    verdict = f"**{row.verdict}**{joined}{row.because}"
    return f"{row.claim} ({row.place})", link or "–", row.expected, finding.measured, verdict


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def document(text: str, findings: Sequence[tuple[Row, Finding]]) -> str:
    """The document with its tables renewed."""
    head, rest = text.split(BEGIN)
    tail = rest.split(END)[1]
    parts = [
        "\n".join([f"### {title}", "", *table(pair for pair in findings if pair[0].place.startswith(section))])
        for title, section in PARTS
    ]
    return f"{head}{BEGIN}\n\n" + "\n\n".join(parts) + f"\n\n{END}{tail}"


def with_rows(text: str, findings: Iterable[tuple[Row, Finding]]) -> str:
    """The document with these rows renewed, wherever they stand."""
    new = {line.split(" | ")[0]: line for line in table(findings)[2:]}
    return "".join(f"{new.get(line.split(' | ')[0], line)}\n" for line in text.splitlines())


def main(names: Sequence[str]) -> int:
    """Run all, or those named; 1 when a row is not what it says."""
    findings = []
    for row in ROWS:
        if names and row.experiment not in names:
            continue
        finding = found(row)
        findings.append((row, finding))
        print(f"{'ok    ' if finding.holds else 'FAILED'} {row.place} | {row.claim}: {finding.measured}", flush=True)
    text = DOC.read_text(encoding="utf-8")
    DOC.write_text(with_rows(text, findings) if names else document(text, findings), encoding="utf-8")
    return 0 if all(finding.holds for _, finding in findings) else 1


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    sys.exit(main(sys.argv[1:]))
