"""Regular expressions of a broker: RE2/J's dialect and words, in linear time.

`tests/data/re2j/answers.json` has the answers of RE2/J 1.8, the jar of Kafka 4.4.0, which `Ask.java` beside it prints.
A running broker was asked 53 of the patterns (`tests/conformance`, patterns-of-transactional-ids).
"""

from __future__ import annotations

import json
import re
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupsim.protocol.patterns import DEEPEST, LARGEST, LONGEST, InvalidPattern, compile_pattern

ANSWERS = json.loads((Path(__file__).parents[1] / "data" / "re2j" / "answers.json").read_text("utf-8"))

CHARACTERS = st.sampled_from(["a", "b", ".", "[ab]", "[^a]", "\\w", "\\W", "\\d", "\\s", "-", "\\.", "(?i:A)"])
PLACES = st.sampled_from(["\\b", "^", "$"])
TIMES = st.sampled_from(["", "", "*", "+", "?", "{2}", "{1,2}", "{0,}", "*?", "{,2}"])
ATOMS = st.tuples(CHARACTERS, TIMES).map("".join) | PLACES


def _larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    group = st.tuples(inner.map(lambda text: f"({text})"), TIMES).map("".join)
    return st.lists(ATOMS | group, max_size=3).map("".join) | st.tuples(inner, inner).map("|".join)


PATTERNS = st.recursive(ATOMS, _larger, max_leaves=8)


@given(PATTERNS, st.text("abA-_ .", max_size=7))
def test_what_both_dialects_know_means_the_same_in_both(pattern: str, text: str) -> None:
    """A text matches as a whole where Python's expressions say so, with classes of ASCII alone."""
    elsewhere = re.compile(pattern.replace("{,2}", "[{],2[}]"), re.ASCII)
    assert compile_pattern(pattern)(text) == (elsewhere.fullmatch(text) is not None)


@pytest.mark.parametrize(
    ("pattern", "good", "bad"),
    [
        ("\\pL\\p{Lu}\\P{Lu}", "üÄü", "üüü"),
        ("\\p{Greek}+", "αβγ", "αbγ"),
        ("\\p{^Greek}", "b", "α"),
        ("[[:alpha:]_]+[[:^digit:]]", "a_ü", "a_1"),
        ("(?P<a>x)(?<b>y)", "xy", "x"),
        ("\\Qa.b+\\E+", "a.b++", "axb+"),
        ("\\x41\\x{1F600}\\101\\07", "A\U0001f600A\a", "A\U0001f600Aa"),
        ("[]a-]+", "]-a", "b"),
        ("[a-z&&[^b]]", "&]", "a"),
        ("(?i)[^a]É", "bé", "Aé"),
        ("(?s).(?-s).", "\na", "a\n"),
        ("(?m)a$\\n^b", "a\nb", "ab"),
        ("a{,2}", "a{,2}", "aa"),
        ("x{2,}?", "xxx", "x"),
        ("()", "", "a"),
        ("a\\Bb", "ab", "a b"),
    ],
)
def test_what_is_res_own(pattern: str, good: str, bad: str) -> None:
    """Classes by name, names of groups, quotations, numbers of characters, brackets, flags."""
    assert compile_pattern(pattern)(good)
    assert not compile_pattern(pattern)(bad)


@pytest.mark.parametrize(
    "pattern",
    [
        *("(", ")", "(?", "(?i", "(?-)", "(?z)", "(?=a)", "(?<=a)b", "(?>a)", "(?#a)", "(?P<a>x)(?P<a>y)", "(?P=a)"),
        *("[", "[a", "[b-a]", "[a-\\d]", "[[:no:]]", "*", "a|*", "(*)", "a**", "a*+", "a{2}{3}", "a{2,1}", "a{1001}"),
        *("\\", "\\8", "\\1", "\\Z", "\\u00fc", "\\h", "\\_x\\", "\\p{No such}", "\\p{Nothing}", "\\x{110000}"),
    ],
)
def test_what_is_no_pattern_is_refused(pattern: str) -> None:
    """What leads back or ahead, what is not closed, what has no name or no number."""
    with pytest.raises(InvalidPattern):
        compile_pattern(pattern)


@pytest.mark.parametrize("pattern", ANSWERS["patterns"])
def test_a_pattern_is_taken_or_refused_as_by_re2j(pattern: str) -> None:
    """The same texts match, or the description of the error is the same."""
    try:
        matches = compile_pattern(pattern)
        answer = "ok " + "".join("01"[matches(text)] for text in ANSWERS["texts"])
    except InvalidPattern as error:
        answer = f"no {error.description}"
    assert answer == ANSWERS["patterns"][pattern]


@pytest.mark.parametrize("pattern", ["(a{1000}){1000}", "((a{100}){100}){100}", "(" * 5_000 + ")" * 5_000])
def test_what_is_too_large_is_refused(pattern: str) -> None:
    """RE2/J takes nested repetitions of more than 1,000 in all, and has a deep pattern overflow its stack."""
    with pytest.raises(InvalidPattern):
        compile_pattern(pattern)


def test_a_long_or_deep_pattern_is_taken() -> None:
    """As by RE2/J: a pattern of ten thousand letters, and groups in each other up to the limit."""
    assert compile_pattern("a" * 10_001)("a" * 10_001)
    assert compile_pattern("(" * DEEPEST + "a" + ")" * DEEPEST)("a")
    assert compile_pattern("[(]" * 2 * DEEPEST)("(" * 2 * DEEPEST)


def test_without_google_re2_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """The package works without the extra; a request with a pattern does not."""
    monkeypatch.setitem(sys.modules, "re2", None)
    with pytest.raises(ImportError, match=r'pip install "groupsim\[patterns\]"'):
        compile_pattern("a")


def test_a_pattern_that_others_try_for_ever_is_answered_at_once() -> None:
    """Repetitions of repetitions cost their length times that of the text, no more."""
    began = time.monotonic()
    assert not compile_pattern("(a*)*(a|a)*(a?){20}b")("a" * 2_000)
    assert time.monotonic() - began < 20


@pytest.mark.parametrize(
    ("pattern", "description"),
    [
        ("a" * 1_000_000, f"more than {LONGEST} characters"),
        ("[" * 1_000_000, f"more than {LONGEST} characters"),
        ("[" * LONGEST, "missing closing ]"),
        ("(?<" * (LONGEST // 3), "invalid named capture"),
        ("(?:a|b?){1000}" * 100, f"more than {LARGEST} instructions"),
        ("[\\pL]{1000}", "pattern too large"),
    ],
    ids=["megabyte", "open classes", "open classes, shorter", "open names", "repetitions", "letters of every script"],
)
def test_a_huge_pattern_is_answered_in_bounded_time(pattern: str, description: str) -> None:
    """RE2/J takes some of these, in minutes, and overflows its stack at others."""
    began = time.monotonic()
    with pytest.raises(InvalidPattern, match=re.escape(description)):
        compile_pattern(pattern)
    assert time.monotonic() - began < 10


def test_groups_cost_nothing() -> None:
    """Ten thousand groups are matched as fast as none, because no caller asks for their places."""
    matches = compile_pattern("(a|b)*" * 8_000)
    began = time.monotonic()
    assert matches("ab" * 100)
    assert time.monotonic() - began < 10


@pytest.mark.parametrize(
    ("pattern", "description"),
    [
        ("\\8{99999999999}", "invalid escape sequence"),
        ("(?z)(?<a b>c)", "invalid or unsupported Perl syntax"),
        ("a**\\C", "invalid nested repetition operator"),
        ("[a{99999999999}", "missing closing ]"),
        ("{+", "invalid nested repetition operator"),
        ("a{{2}", "invalid nested repetition operator"),
        ("\\x{", "invalid escape sequence"),
    ],
)
def test_the_first_error_of_a_pattern_is_the_answer(pattern: str, description: str) -> None:
    """Of two errors RE2/J names the first; a brace that is a letter counts as a repetition (asked of RE2/J 1.8)."""
    with pytest.raises(InvalidPattern, match=re.escape(description)):
        compile_pattern(pattern)


def test_an_escaped_letter_that_is_not_ascii_is_that_letter() -> None:
    """RE2 refuses it, RE2/J does not."""
    assert compile_pattern("caf\\é")("café")
