"""Which regular expressions a subscription may have, and in which words others are refused.

Source: `GroupMetadataManager.throwIfRegularExpressionIsInvalid`, RE2/J 1.8.
"""

from __future__ import annotations

from tests.conformance.consumer.claims import claims
from tests.conformance.script import Script

NESTED = ("(a{1000}){2}", "((a{100}){20}){2}", "(a{500}){3,}")
"""RE2 counts nested repetitions together and refuses more than a thousand; RE2/J does not."""
INVALID = "INVALID_REGULAR_EXPRESSION"
GOOD = (
    ".*",
    "^topic$",
    "topic-[0-9]+",
    "(a|b)*",
    "(?i)TOPIC",
    "(?s).",
    "(?P<name>a)",
    "(?<name>a)",
    "(?:a)",
    "a{0}",
    "a{2,}",
    "a{2,5}",
    "a{1000}",
    "a*?",
    "a+?",
    "a??",
    "(a*)*",
    "(a+)+$",
    "[[:alpha:]]+",
    "[^[:digit:]]",
    "\\d+\\w*\\s?",
    "\\pL",
    "\\p{Greek}",
    "\\P{Lu}",
    "\\x41",
    "\\x{1F600}",
    "\\Q.*\\E",
    "\\bword\\b",
    "\\A\\z",
    "a{,5}",
    "a{",
    "{1}",
    "]",
    "a|",
    "|",
    "()",
    "ä+",
    "\t",
    "a\\.b",
    "x{10}{10}",
)
"""Some of these are refused: the claim is the recorded answer, whichever it is."""
BAD = (
    "(",
    ")",
    "a)",
    "(a",
    "[",
    "[a",
    "[]",
    "[z-a]",
    "[a-\\d]",
    "[[:nonsense:]]",
    "*",
    "+a",
    "?",
    "a**",
    "a+*",
    "a++",
    "a{2}{3}*+",
    "a{1001}",
    "a{5,2}",
    "a{2,1001}",
    "a{99999999999}",
    "(?=a)",
    "(?!a)",
    "(?<=a)",
    "(?<!a)",
    "(?>a)",
    "(a)\\1",
    "(?P=name)",
    "(?P<n>a)(?P<n>b)",
    "(?P<>a)",
    "(?P<no good>a)",
    "(?<>a)",
    "(?x)a",
    "(?i",
    "(?",
    "\\",
    "a\\",
    "\\q",
    "\\8",
    "\\x",
    "\\x{110000}",
    "\\xZZ",
    "\\p{Nonsense}",
    "\\pX",
    "\\p",
    "\\p{L",
    "\\C",
    "\\Z",
    "\\G",
    "\\u0041",
    "\\cA",
    "[\\Q]\\E]",
    "(?#comment)",
    "\\K",
    "\\R",
    "\\h",
    "a{1,2}{3,4}",
    "(((((((((((a)))))))))))",
    "x*" * 40,
)
"""Some of these are taken: the claim is the recorded answer, whichever it is."""


async def _asked(s: Script, patterns: tuple[str, ...]) -> None:
    a = await s.member("a")
    for number, pattern in enumerate(patterns):
        body = {
            "group_id": s.named(f".{number}"),
            "member_id": "a",
            "member_epoch": 0,
            "rebalance_timeout": 60_000,
            "subscribed_topic_names": [],
            "subscribed_topic_regex": pattern,
            "topic_partitions": [],
        }
        await a.post("ConsumerGroupHeartbeat", 1, body)
        await a.either(INVALID)


@claims("2.5-invalid-regex", "regex-syntax")
async def patterns_that_look_good(s: Script) -> None:
    await _asked(s, GOOD)


@claims("2.5-invalid-regex", "regex-syntax")
async def patterns_that_look_bad(s: Script) -> None:
    await _asked(s, BAD)


@claims("2.5-invalid-regex", "regex-syntax")
async def very_long_patterns(s: Script) -> None:
    await _asked(s, ("a" * 10_000, "(" * 900 + ")" * 900, "a|" * 5_000, "[a-z]" * 1_000, "(" * 500))


@claims("regex-syntax", only_real="RE2 refuses repetitions that come to more than a thousand together, RE2/J does not")
async def patterns_with_nested_repetitions(s: Script) -> None:
    await _asked(s, NESTED)
