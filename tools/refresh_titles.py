"""Write the index of the library's titles, from which `groupsim list` prints: python tools/refresh_titles.py"""

from __future__ import annotations

from pathlib import Path

from groupsim.scenarios.loading import catalogue

TARGET = Path(__file__).resolve().parent.parent / "scenarios" / "library" / catalogue.INDEX

if __name__ == "__main__":
    TARGET.write_text(catalogue.index_text(), "utf-8")
