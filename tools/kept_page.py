"""The command line of a tool that keeps a part of a page true: write the page, or only compare (`--check`)."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path


def replaced(page: str, begin: str, end: str, part: str) -> str:
    """The page with another part between two markers, markers included. Raises ValueError when it has none."""
    head, found, rest = page.partition(begin)
    _, ended, tail = rest.partition(end)
    if not found or not ended:
        raise ValueError(f"the page has no markers; it needs the lines {begin} and {end}")
    return head + part + tail


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
