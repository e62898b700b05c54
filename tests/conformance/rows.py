"""Which rows of docs/fidelity/ the scripts prove on a real broker.

    python -m tests.conformance.rows            row and scripts, as a Markdown table
    python -m tests.conformance.rows --missing  the rows of the classic-protocol tables that no script proves
    python -m tests.conformance.rows --json     {row: {"nodes": 1 or 3, "scripts": [...]}}

Exit code 1 when a script names a row that the document does not have.
"""

from __future__ import annotations

import argparse
import json
import re
import sys

from tests.conformance.scripts import all_cases
from tests.helpers.fidelity_rows import expand, rows

TABLES = re.compile(r"^(1\.|2\.|3\.|J\d-|trap-)")
OF_CONSUMER_GROUPS = "G"
"""A row of the coordinator of consumer groups is this and a row of `tests.conformance.consumer.facts`."""


def documented() -> list[str]:
    """The ids of the classic-protocol tables, in the order of the document."""
    return [row for row in everything() if TABLES.match(row)]


def everything() -> list[str]:
    """The ids of all tables."""
    return [one for row in rows() for one in row.ids]


def proved() -> dict[str, dict[str, object]]:
    """Row → the scripts that prove it, and the smallest number of nodes one of them needs."""
    found: dict[str, dict[str, object]] = {}
    for case in all_cases().values():
        if case.only_real:
            continue
        rows_of_groups = (OF_CONSUMER_GROUPS + fact for fact in case.facts)
        for row in (*(one for text in case.rows for one in expand(text)), *rows_of_groups):
            entry = found.setdefault(row, {"nodes": case.nodes, "scripts": []})
            entry["nodes"] = min(case.nodes, int(str(entry["nodes"])))
            scripts = entry["scripts"]
            if isinstance(scripts, list) and case.name not in scripts:
                scripts.append(case.name)
    return found


def unknown() -> list[str]:
    """Rows that scripts name and the document does not have, with a script of each."""
    known = set(everything())
    return [f"{row} ({entry['scripts']})" for row, entry in proved().items() if row not in known]


def main() -> int:
    """Print one of the three views."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.rows")
    parser.add_argument("--missing", action="store_true")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    found = proved()
    if asked.json:
        print(json.dumps(found, indent=1))
    elif asked.missing:
        print("\n".join(row for row in documented() if row not in found))
    else:
        print("| row | live on | scripts |\n| --- | --- | --- |")
        for row in (row for row in documented() if row in found):
            scripts = found[row]["scripts"]
            assert isinstance(scripts, list)
            print(f"| `{row}` | {found[row]['nodes']} node(s) | {', '.join(f'`{script}`' for script in scripts)} |")
        known = [row for row in found if row in set(documented())]
        print(f"\n{len(known)} of {len(documented())} rows")
    for row in unknown():
        print(f"no such row: {row}", file=sys.stderr)
    return 1 if unknown() else 0


if __name__ == "__main__":
    sys.exit(main())
