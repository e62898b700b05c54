"""One rebalance as a Mermaid `sequenceDiagram`.

Texts have only characters that Mermaid's grammar accepts everywhere: no `;`, which ends a statement, and no `#`, which
begins an entity.
"""

from __future__ import annotations

from collections.abc import Iterator

from groupsim.cli.render.rebalance.folded import Fold, folded
from groupsim.cli.render.rebalance.lines import Course, Line, What
from groupsim.scenarios.story.words import clock

COORDINATOR = "K"
OTHERS = "others"
ARROWS = {What.REQUEST: "->>", What.ANSWER: "-->>", What.LOST: "-x"}
_PLAIN = str.maketrans({";": ",", "#": "no. ", "\n": " ", "\r": " ", "%": " percent", "<": "‹", ">": "›"})


def mermaid(course: Course, *, every: bool = False) -> str:
    """Return the diagram as text, with a newline at its end."""
    return "\n".join(_statements(course, folded(course, every=every))) + "\n"


def _statements(course: Course, folds: tuple[Fold, ...]) -> Iterator[str]:
    named = [host for host in course.hosts if any(_alone(fold) == host for fold in folds)]
    names = {host: f"m{number}" for number, host in enumerate(named, 1)}
    brokers = ", ".join(course.brokers)
    yield "sequenceDiagram"
    yield f"    participant {COORDINATOR} as coordinator" + (f" ({_plain(brokers)})" if brokers else "")
    for host, name in names.items():
        leads = course.generation.leader is not None and course.generation.leader.host == host
        yield f"    participant {name} as {_plain(host)}" + (" (leader)" if leads else "")
    if any(fold.members > 1 for fold in folds):
        yield f"    participant {OTHERS} as {len(course.hosts) - len(named)} members"
    active: set[int] = set()
    answered = {line.number for line in course.lines if line.what is What.ANSWER}
    for fold in folds:
        line = fold.first
        yield f"    {_statement(fold, names)}"
        if len(fold.lines) > 1 or line.number is None or line.host is None:
            continue
        if line.parked_us is not None and line.number in answered:
            active.add(line.number)
            yield f"    activate {names[line.host]}"
        elif line.what is What.ANSWER and line.number in active:
            active.discard(line.number)
            yield f"    deactivate {names[line.host]}"


def _alone(fold: Fold) -> str | None:
    return fold.first.host if fold.members == 1 else None


def _statement(fold: Fold, names: dict[str, str]) -> str:
    line = fold.first
    who = OTHERS if fold.members > 1 else names.get(line.host or "", COORDINATOR)
    many = f"{fold.who}, " if fold.members > 1 else ""
    text = _plain(f"{clock(line.at_us)} {many}{fold.text}{_reason(line)}")
    arrow = ARROWS.get(line.what)
    if arrow is None or who == COORDINATOR:
        return f"Note over {who}: {text}"
    ends = (COORDINATOR, who) if line.what is What.ANSWER else (who, COORDINATOR)
    return f"{ends[0]}{arrow}{ends[1]}: {text}"


def _reason(line: Line) -> str:
    if not line.reason or line.what not in (What.STATE, What.NOTE):
        return ""
    return f": {line.reason}" if line.what is What.STATE else f" ({line.reason})"


def _plain(text: str) -> str:
    return " ".join(text.translate(_PLAIN).split())
