from __future__ import annotations

from groupsim.testing import mutants
from tests.regressions.bugs_page import HERE, PARTS, bugs, page

DOCS = HERE.parents[1] / "docs"


def test_the_page_of_bugs_is_made_of_the_tests() -> None:
    """docs/regressions.md is what `python tests/regressions/bugs_page.py docs/regressions.md` writes."""
    assert (DOCS / "regressions.md").read_text(encoding="utf-8") == page()


def test_pages_have_the_number_of_bugs() -> None:
    """README.md, docs/writing-a-test.md and the guide of client authors say how many bugs there are."""
    count = sum(len(list(bugs(HERE / name))) for name in PARTS.values())
    pages = (DOCS.parent / "README.md", DOCS / "writing-a-test.md", DOCS / "guides" / "client-author.md")
    for page_with_number in pages:
        assert f"[{count} bugs of" in page_with_number.read_text(encoding="utf-8")


def test_every_mutant_is_caught_by_a_test() -> None:
    """Each mutant has one test here that fails with it, and every test has one."""
    caught = [name for part in PARTS.values() for *_, names in bugs(HERE / part) for name in names.split(", ")]
    assert sorted(caught) == sorted(mutants.by_name())
