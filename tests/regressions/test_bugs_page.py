from __future__ import annotations

import ast
from pathlib import Path

from bugs_page import HERE, PARTS, bugs, page

DOCS = HERE.parents[1] / "docs"


def test_the_page_of_bugs_is_made_of_the_tests() -> None:
    """docs/regressions.md is what `python tests/regressions/bugs_page.py docs/regressions.md` writes."""
    assert (DOCS / "regressions.md").read_text(encoding="utf-8") == page()


def test_the_number_of_bugs_is_told_as_it_is() -> None:
    """README.md and docs/writing-a-test.md say how many bugs there are."""
    count = sum(len(list(bugs(HERE / name))) for name in PARTS.values())
    for page_with_number in (DOCS.parent / "README.md", DOCS / "writing-a-test.md"):
        assert f"[{count} bugs of" in page_with_number.read_text(encoding="utf-8")


def test_every_defect_is_caught_by_a_test() -> None:
    """No defect lies in a module of theirs without a test that fails with it, and every test has one."""
    caught = [defect for name in PARTS.values() for *_, defects in bugs(HERE / name) for defect in defects.split(", ")]
    written = [name for path in sorted(HERE.glob("*_defects.py")) for name in _public_functions(path)]
    assert sorted(caught) == sorted(written)


def _public_functions(path: Path) -> list[str]:
    body = ast.parse(path.read_text(encoding="utf-8")).body
    return [node.name for node in body if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")]
