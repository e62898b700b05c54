"""The pattern engine takes and refuses what a real broker does, in its words."""

from __future__ import annotations

import pytest

from groupsim.protocol.patterns import InvalidPattern, compile_pattern
from tests.conformance.data import load
from tests.conformance.scripts.consumer.patterns import BAD, GOOD

WORDS = "is not a valid regular expression: "


@pytest.mark.parametrize(("play", "patterns"), [("patterns-that-look-good", GOOD), ("patterns-that-look-bad", BAD)])
def test_patterns_are_refused_in_the_words_of_a_real_broker(play: str, patterns: tuple[str, ...]) -> None:
    """Each of these patterns is taken, or refused with the reason that Apache Kafka gave for it."""
    pytest.importorskip("re2")
    answers = load("consumer_patterns")[play].lines["a"]
    assert len(answers) == len(patterns)
    for pattern, (_, answer) in zip(patterns, answers, strict=True):
        message = answer["error_message"]
        assert (message is None) == (answer["error_code"] == "NONE")
        assert (pattern, _reason(pattern)) == (pattern, message and message.split(WORDS)[1].removesuffix("."))


def _reason(pattern: str) -> str | None:
    """Why the engine refuses a pattern; None when it takes it."""
    try:
        compile_pattern(pattern)
    except InvalidPattern as refused:
        return refused.description
    return None
