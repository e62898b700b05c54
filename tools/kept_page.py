"""The command line of a tool that keeps figures in a page true: write the page anew, or only compare (`--check`)."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path


def keep(page: Path, refreshed: Callable[[str], str], description: str | None) -> int:
    """Write the page as `refreshed` makes it; with `--check` 1 when it differs, and nothing is written."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare only; exit 1 when they differ")
    text = page.read_text(encoding="utf-8")
    new = refreshed(text)
    if parser.parse_args().check:
        return 0 if new == text else 1
    page.write_text(new, encoding="utf-8")
    return 0
