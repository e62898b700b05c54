"""docs/regressions.md: which historical bugs have a test, from the tests' own docstrings and marks.

python tests/regressions/bugs_page.py docs/regressions.md
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
PARTS = {
    "Coordinators": "test_coordinator_bugs.py",
    "Offsets and fail-over": "test_offset_bugs.py",
    "Consumers": "test_client_bugs.py",
    "Commits and positions": "test_commit_bugs.py",
    "Assignors": "test_assignor_bugs.py",
}
INTRODUCTION = """# Bugs of the past, as tests

Each of these once was in a broker, a client library or an assignor. A test in `tests/regressions` holds the right
behaviour, and is run a second time with the bug put back (`*_defects.py` beside it, a few lines each), when it has to
fail. [writing-a-test.md](writing-a-test.md#a-test-that-can-fail) shows how to do the same for a bug of yours.
`tests/stories/test_kafka_issues.py` has more issues whose trigger is a client's or a broker's age;
[defects.md](defects.md) those that Kafka still has.
"""


def page() -> str:
    """The whole page."""
    return INTRODUCTION + "".join(f"\n## {title}\n\n{_table(HERE / name)}" for title, name in PARTS.items())


def _table(path: Path) -> str:
    rows = "".join(f"| {issue} | {words} | `{defect}` |\n" for issue, words, defect in bugs(path))
    return f"| issue | what the test holds | the bug, put back |\n| --- | --- | --- |\n{rows}"


def bugs(path: Path) -> Iterator[tuple[str, str, str]]:
    """Issue, behaviour and defect of each test of a module."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            issue, _, words = (ast.get_docstring(node) or "").partition(": ")
            yield issue, words, ", ".join(_defects(node))


def _defects(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    for mark in node.decorator_list:
        if isinstance(mark, ast.Call) and isinstance(mark.func, ast.Name) and mark.func.id == "caught":
            yield from (argument.attr for argument in mark.args if isinstance(argument, ast.Attribute))


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
