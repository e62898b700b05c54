"""Whether a text matches a regular expression as a whole, in time that grows with the text and the pattern alone.

Python's own expressions go back and try again, so that `(a*)*b` against forty letters takes for ever, and a broker with
it; they are another dialect besides (`\\w` has umlauts, there are references back). Kafka's broker has RE2/J. Here all
ways through a program (`pattern_parser`) are gone at once, a character at a time.

Source: RE2/J (`Machine`); https://swtch.com/~rsc/regexp/regexp2.html.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from groupsim.cluster.transactions.pattern_classes import IS_WORD
from groupsim.cluster.transactions.pattern_parser import Fork, Look, NoPattern, Program, parse

__all__ = ["NoPattern", "compiled"]


def compiled(pattern: str) -> Callable[[str], bool]:
    """What tells whether a text matches. Raises NoPattern for what RE2/J does not take, or what is too large."""
    program = parse(pattern)
    return lambda text: _matches(program, text)


def _matches(program: Program, text: str) -> bool:
    there = _reached(program, [0], text, 0)
    for at, char in enumerate(text):
        taken = [number + 1 for number in there if number < len(program) and program[number](char)]  # type: ignore[operator]
        if not taken:
            return False
        there = _reached(program, taken, text, at + 1)
    return len(program) in there


def _reached(program: Program, begin: Iterable[int], text: str, at: int) -> list[int]:
    """The steps that take a character, and the end, as far as they can be reached at this place of the text."""
    found: list[int] = []
    seen: set[int] = set()
    waiting = [*begin]
    while waiting:
        number = waiting.pop()
        if number in seen:
            continue
        seen.add(number)
        step = program[number] if number < len(program) else None
        if isinstance(step, Fork):
            waiting += (number + step.one, number + step.other)
        elif isinstance(step, Look):
            if _holds(step, text, at):
                waiting.append(number + 1)
        else:
            found.append(number)
    return found


def _holds(look: Look, text: str, at: int) -> bool:
    if look is Look.BEGIN:
        return at == 0
    if look is Look.END:
        return at == len(text)
    if look is Look.LINE_BEGIN:
        return at == 0 or text[at - 1] == "\n"
    if look is Look.LINE_END:
        return at == len(text) or text[at] == "\n"
    before, after = at > 0 and IS_WORD(text[at - 1]), at < len(text) and IS_WORD(text[at])
    return (before != after) == (look is Look.EDGE)
