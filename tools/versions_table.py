"""Write the table of APIs and their versions, by release of a broker, into docs/serving.md.

python tools/versions_table.py            write the table
python tools/versions_table.py --check    exit 1 when the page differs
"""

from __future__ import annotations

import sys
from pathlib import Path

from kept_page import keep, replaced

from groupsim.protocol.messages.releases import BASELINE
from groupsim.protocol.wire.apis import api_table, served

PAGE = Path(__file__).resolve().parent.parent / "docs" / "serving.md"
BEGIN = "<!-- versions: begin (written by tools/versions_table.py) -->"
END = "<!-- versions: end -->"
RELEASES = ("2.8", "3.9", "4.0.0", BASELINE)


def table() -> str:
    """The table of API and release: the versions of ApiVersions, "–" where an API is absent."""
    tables = [api_table(release) for release in RELEASES]
    lines = [["API", "key", *RELEASES], ["---"] * (len(RELEASES) + 2)]
    for api in served():
        versions = [str(one[api]).replace("-", "–") if api in one else "–" for one in tables]
        lines.append([api.title, str(int(api)), *versions])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def rewritten(page: str) -> str:
    """The page with the table between its markers. Raises ValueError when it has no markers."""
    return replaced(page, BEGIN, END, f"{BEGIN}\n{table()}\n{END}")


if __name__ == "__main__":
    sys.exit(keep(PAGE, rewritten, __doc__))
