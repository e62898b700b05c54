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
    "Consumers, at a coordinator that moves or loads": "test_answer_bugs.py",
    "Commits and positions": "test_commit_bugs.py",
    "Assignors": "test_assignor_bugs.py",
    "Had by the code for KIP-848, possible in any": "test_next_protocol_bugs.py",
    "Coordinators of consumer groups (KIP-848)": "test_consumer_group_bugs.py",
    "Members of consumer groups (KIP-848)": "test_consumer_member_bugs.py",
}
INTRODUCTION = """# Bugs of the past, as tests

Each of these bugs was in a broker, a client library or an assignor. A test in `tests/regressions` checks the right
behaviour, and runs a second time with the bug restored (a function of `groupsim.testing.mutants`, a few lines), when
it has to fail; `pytest tests/regressions -k holds --sim-seeds 5` runs it with other seeds.
[writing-a-test.md](writing-a-test.md#a-test-that-can-fail) shows how to run your own tests with these bugs.
`tests/stories/test_kafka_issues.py` has more issues whose trigger is a client's or a broker's age;
[defects.md](defects.md) those that Kafka still has.
"""

#: Bugs that cannot be restored, and why.
MISSING = (
    (
        "franz-go d7ae9db9",
        "Where subscriptions differ Kafka's own `cooperative-sticky` takes raw claims for what is owned, as "
        "that one did, and so does ours.",
    ),
    (
        "franz-go 1365, a568b216",
        "A consumer's rebalance protocol is that of all its assignors together, as in Java; one that follows "
        "the protocol the group has chosen is not modelled.",
    ),
    (
        "KAFKA-15784",
        "Whether a transaction knows the group's partition is asked within one turn: there is no wait in "
        "which the group could go on.",
    ),
    (
        "KAFKA-17507",
        "The end of a transaction is applied when it is written, before it is answered: there is no cache "
        "that comes later.",
    ),
    (
        "franz-go 416e8269, 7d050fc8, 769d52d1",
        "No commit is taken back while it is under way, and no client has auto-commit and commits of the "
        "application at once.",
    ),
    (
        "librdkafka 4059",
        "A commit and a JoinGroup share a connection and are answered in order, so that no answer to a commit "
        "comes between a new generation and its assignment.",
    ),
    (
        "aiokafka 747, d8941bec, KAFKA-8104, KAFKA-10793, KAFKA-19242",
        "Races between the threads, or tasks, of one process: a consumer here is one task.",
    ),
    (
        "librdkafka 4783",
        "An endless loop in an assignor would be one in the test.",
    ),
    (
        "librdkafka 4442, 4844, 5199, KAFKA-4547",
        "What an application sees of single records and partitions: markers, errors that stick, paused "
        "partitions, commits without a leader epoch.",
    ),
    (
        "KAFKA-4472, KAFKA-7286, KAFKA-18484",
        "Numbers and buffers of a fixed size, and answers that cannot be delivered.",
    ),
    (
        "KAFKA-14201",
        "Today's coordinator accepts a commit of any client to an empty group, with any instance id.",
    ),
    (
        "KAFKA-16224 (classic consumers)",
        "Java's consumer of the classic protocol still does it: the commit before a rebalance that names a deleted "
        "topic is tried again until max.poll.interval.ms has passed, and so here.",
    ),
)

NEXT = "Next: [writing a test](writing-a-test.md#a-test-that-can-fail) that one of these bugs fails.\n"


def page() -> str:
    """The whole page."""
    tables = "".join(f"\n## {title}\n\n{_table(HERE / name)}" for title, name in PARTS.items())
    missing = "".join(f"| {issue} | {why} |\n" for issue, why in MISSING)
    return f"{INTRODUCTION}{tables}\n## Not here\n\n| issue | why |\n| --- | --- |\n{missing}\n{NEXT}"


def _table(path: Path) -> str:
    rows = "".join(f"| {issue} | {words} | `{defect}` |\n" for issue, words, defect in bugs(path))
    return f"| issue | what the test holds | the bug, restored |\n| --- | --- | --- |\n{rows}"


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
