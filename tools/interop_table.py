"""The table client × case of the interoperability suite, from the outcomes that its runs left behind.

    python tools/interop_table.py                 print the table of the last run against groupsim
    python tools/interop_table.py --peer kafka    … against a real broker
    python tools/interop_table.py --write         keep what the last runs found in docs/interop.json and docs/interop.md
    python tools/interop_table.py --check         exit 1 when docs/interop.md is not as docs/interop.json

Exit code 1, too, when an outcome that is printed is FAILED, or there is none at all.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
OUTCOMES = ROOT / ".build" / "interop"
KEPT = ROOT / "docs" / "interop.json"
PAGE = ROOT / "docs" / "interop.md"
PEERS = ("groupsim", "kafka")
TOOLS = "kafka-tools"
CLIENTS = ("confluent-kafka", "aiokafka", "kafka-python", "franz-go", "sarama", "java")
BLOCK = re.compile(r"(<!-- (?P<name>clients|tools) -->\n).*?(<!-- end -->)", re.DOTALL)
FAILED = "FAILED"

Row = Mapping[str, Any]


def outcomes(peer: str) -> list[Row]:
    """What the last runs against a peer left behind."""
    return [json.loads(path.read_text("utf-8")) for path in sorted((OUTCOMES / peer).glob("*.json"))]


def cases_of(rows: Iterable[Row]) -> list[Row]:
    """One row of each case, in the order of the suite."""
    first = {row["case"]: row for row in sorted(rows, key=lambda row: int(row["order"]))}
    return list(first.values())


def clients_of(rows: Iterable[Row]) -> list[tuple[str, str]]:
    """Name and version of each client, in the order of the table."""
    found = {str(row["client"]): str(row["version"]) for row in rows}
    return sorted(found.items(), key=lambda one: (CLIENTS.index(one[0]) if one[0] in CLIENTS else 99, one[0]))


def clients_table(rows: Sequence[Row]) -> list[list[str]]:
    """Head and rows: a line for each case, a column for each client."""
    clients = clients_of(rows)
    by = {(row["client"], row["case"]): row for row in rows}
    lines = [["case", *(f"{name} {version}" for name, version in clients)]]
    return lines + [
        [str(case["says"]), *(word(by.get((name, case["case"]))) for name, _ in clients)] for case in cases_of(rows)
    ]


def tools_table(rows: Sequence[Row], real: Sequence[Row]) -> list[list[str]]:
    """Head and rows of Kafka's command-line tools: a line for each task, a column for each peer."""
    theirs = {row["case"]: row for row in real}
    version = rows[0]["version"] if rows else ""
    lines = [[f"tools of Kafka {version}", "groupsim", "Kafka"]]
    return lines + [[str(row["says"]), word(row), word(theirs.get(row["case"]))] for row in cases_of(rows)]


def to_keep(before: Mapping[str, Sequence[Row]]) -> dict[str, Sequence[Row]]:
    """What the last runs found, without how long it took; a peer that nothing was run against keeps what it had."""
    found = {
        peer: [{key: row[key] for key in sorted(row) if key != "seconds"} for row in outcomes(peer)] for peer in PEERS
    }
    return {peer: rows or before[peer] for peer, rows in found.items()}


def word(row: Row | None) -> str:
    """A cell: how a case ended."""
    if row is None:
        return "not run"
    outcome = str(row["outcome"])
    return f"{outcome}: {row['reason']}" if outcome in {FAILED, "skipped"} else outcome


def split(rows: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    """Outcomes of clients, and those of the tools."""
    return [row for row in rows if row["client"] != TOOLS], [row for row in rows if row["client"] == TOOLS]


def markdown(lines: Sequence[Sequence[str]]) -> str:
    """A table as Markdown."""
    cells = [[cell.replace("|", "\\|") for cell in line] for line in lines]
    rows = [f"| {' | '.join(line)} |\n" for line in cells]
    return "".join([rows[0], f"|{' --- |' * len(lines[0])}\n", *rows[1:]])


def plain(lines: Sequence[Sequence[str]]) -> str:
    """A table for a terminal; reasons below it."""
    short = [[cell.split(":")[0] if number else cell for number, cell in enumerate(line)] for line in lines]
    widths = [max(len(line[column]) for line in short) for column in range(len(lines[0]))]
    text = "".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() + "\n" for line in short
    )
    reasons = [
        f"  {line[0]}, {lines[0][column]}: {cell}\n"
        for line in lines[1:]
        for column, cell in enumerate(line)
        if column and ": " in cell
    ]
    return text + ("\n" + "".join(reasons) if reasons else "")


def refreshed(page: str, kept: Mapping[str, Sequence[Row]]) -> str:
    """The page with its tables as the kept outcomes have them."""
    clients, tools = split(kept["groupsim"])
    tables = {"clients": clients_table(clients), "tools": tools_table(tools, split(kept["kafka"])[1])}
    return BLOCK.sub(lambda block: f"{block[1]}\n{markdown(tables[block['name']])}\n{block[3]}", page)


def main() -> int:
    """Print, write or check."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", choices=PEERS, default=PEERS[0])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--check", action="store_true")
    asked = parser.parse_args()
    if asked.check:
        page = PAGE.read_text("utf-8")
        return 0 if refreshed(page, json.loads(KEPT.read_text("utf-8"))) == page else 1
    rows = outcomes(asked.peer)
    if not rows:
        print(f"nothing was run against {asked.peer}: make interop", file=sys.stderr)
        return 1
    if asked.write:
        kept = to_keep(json.loads(KEPT.read_text("utf-8")))
        KEPT.write_text(json.dumps(kept, indent=1) + "\n", "utf-8")
        PAGE.write_text(refreshed(PAGE.read_text("utf-8"), kept), "utf-8")
    tools, theirs = (split(outcomes(peer))[1] for peer in PEERS)
    print(f"against {asked.peer}\n")
    both = (clients_table(split(rows)[0]), tools_table(tools, theirs))
    print("\n".join(plain(lines) for lines in both if len(lines) > 1))
    return 1 if any(row["outcome"] == FAILED for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
