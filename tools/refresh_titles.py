"""Write the index of the library's titles, from which `groupsim list` prints: python tools/refresh_titles.py"""

from __future__ import annotations

import json
from pathlib import Path

from groupsim.scenarios.language.document import read_document
from groupsim.scenarios.loading import catalogue

TARGET = Path(__file__).resolve().parent.parent / "scenarios" / "library" / catalogue.INDEX


def index_text() -> str:
    """Return the text that the index should have, from the scenarios' files."""
    return json.dumps([_row(name) for name in catalogue.names()], indent=1, ensure_ascii=False) + "\n"


def _row(name: str) -> dict[str, str | None]:
    data = read_document(catalogue.library() / f"{name}.yaml").data
    shows = " ".join(str(data.get("shows", "")).split())
    return {"name": name, "title": str(data.get("title", "")), "shows": shows, "source": data.get("source")}


if __name__ == "__main__":
    TARGET.write_text(index_text(), "utf-8")
