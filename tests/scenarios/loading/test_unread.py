"""One report has every mistake of a file: unreadable values, and errors in the readable part."""

from __future__ import annotations

import pytest

from groupsim.scenarios.language.document import parse_document
from groupsim.scenarios.language.problems import ScenarioError
from groupsim.scenarios.lint import lint_scenario
from groupsim.scenarios.loading.load import load_text

BASE = """\
run-for: 60s
broker: {version: "3.9"}
topics: {orders: {partitions: 4}}
groups:
  billing: {properties: {session.timeout.ms: 10000}, members: {c: 2}}
timeline:
- {at: 10s, do: crash, member: c-1}
- {at: 20s, do: scale, to: 3}
expect:
- {owner: {partition: orders-3, is: c-2}}
"""


def mistakes(*changes: tuple[str, str]) -> list[str]:
    """The line and the first words of every error of the base with changes."""
    text = BASE
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    with pytest.raises(ScenarioError) as caught:
        load_text(text)
    return [f"{one.place.line} {one.message}" for one in caught.value.problems]


def begin(found: list[str], *words: str) -> bool:
    """Whether these are the mistakes, in this order."""
    return len(found) == len(words) and all(one.startswith(word) for one, word in zip(found, words, strict=True))


def test_mistakes_of_every_kind_are_told_at_once_in_the_order_of_the_file() -> None:
    """A bad value, an unknown action and a bad setting do not hide an undefined name."""
    found = mistakes(
        ("partitions: 4", "partitions: 4, prtitions: 5"), ("10000", "abc"), ("c-1", "d-1"), ("scale", "skale")
    )
    assert begin(
        found, "3 `orders`: unknown key", "5 `session.timeout.ms` = abc", "7 `member`", "8 `timeline`: `skale`"
    )


def test_every_impossible_setting_is_told() -> None:
    """One impossible setting does not hide the next, neither of a client nor of the brokers."""
    found = mistakes(
        ("10000", "abc, heartbeat.interval.ms: x, max.pol.records: 4"),
        ('version: "3.9"', "group.max.size: many, group.initial.rebalance.delay.ms: -4"),
    )
    assert begin(
        found, "2 `group.max.size`", "2 `group.initial", "5 `session.timeout.ms`", "5 `heartbeat", "5 max.pol.records"
    )


@pytest.mark.parametrize(
    ("changes", "first"),
    [
        ((("c: 2", "c: two"), ("c-1", "d-1")), "5 `c`: expected a whole number"),
        ((("groups:", "gruops:"), ("c-1", "d-1")), "4 unknown key"),
        ((("partitions: 4", "partitions: many"), ("orders-3", "orders-9")), "3 `partitions`"),
        ((("do: scale, to: 3", "do: skale, to: 3"), ("c-1", "c-7")), "8 `timeline`"),
        ((("do: scale, to: 3", "do: make-topic, topic: new"), ("orders-3", "new-3")), "8 `timeline`"),
    ],
)
def test_nothing_is_said_of_names_that_the_unread_part_may_define(
    changes: tuple[tuple[str, str], ...], first: str
) -> None:
    """The unreadable part may define a member, a partition or a topic: one mistake, not two."""
    assert begin(mistakes(*changes), first)


def test_a_file_without_an_end_is_judged_all_the_same() -> None:
    """The missing `run-for` is reported once, with the other mistakes."""
    assert begin(mistakes(("run-for: 60s\n", ""), ("c-1", "d-1")), "1 the key `run-for` is missing", "6 `member`")


@pytest.mark.parametrize("written", ["run-fr", "run_for"])
def test_who_misspells_the_end_is_not_told_that_there_is_none(written: str) -> None:
    """A misspelling is reported once, at its place; another unknown key does not hide the missing `run-for`."""
    assert begin(mistakes(("run-for:", f"{written}:")), f"1 unknown key `{written}`")
    assert begin(mistakes(("run-for:", "weather:")), "1 unknown key `weather`", "1 the key `run-for` is missing")


def test_brokers_settings_that_agree_only_together_are_no_mistake() -> None:
    """A highest session below the default lowest is valid if the lowest is lower still."""
    load_text(BASE.replace('"3.9"', '"3.9", group.min.session.timeout.ms: 1000, group.max.session.timeout.ms: 50000'))


def test_a_brokers_setting_whose_name_holds_another_is_told_where_it_stands() -> None:
    """`offsets.topic.num.partitions` is reported once, at its own line, though `num.partitions` is before it."""
    broker = 'broker:\n  version: "3.9"\n  num.partitions: 3\n  offsets.topic.num.partitions: 0\n'
    assert begin(mistakes(('broker: {version: "3.9"}\n', broker)), "5 `offsets.topic.num.partitions`")


def test_the_linter_tells_the_same_mistakes() -> None:
    """A scenario that cannot be read has the same report in `lint` and `validate`."""
    broken = BASE.replace("scale", "skale").replace("c-1", "d-1")
    with pytest.raises(ScenarioError) as caught:
        lint_scenario(parse_document(broken))
    assert [one.place.line for one in caught.value.problems] == [7, 8]
