"""`groupsim assign --explain`: the steps of an assignor, as data and as lines.

A round of the result has them as `explanation`, a list in order:

    [{"stage": "ConstrainedAssignmentBuilder.assignOwnedPartitions", "does": "keep", "partitions": [["t", 0]],
      "member": "c1", "reason": "claimed with generation 4; 1 of at most 2"}, …]

`member`, `giver` and `counts` are present if a step has them (`groupsim.assignors.Step`). For an assignor without an
`explain` method the list has only the members that joined and left.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from itertools import groupby
from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from groupsim.assignors import Steps
from groupsim.cli.render.partitions import in_ranges
from groupsim.protocol.embedded.assignment import MemberSubscription
from groupsim.protocol.messages.group import TopicPartition

#: Maximal number of lines of one stage, and of topics or ranges in one line, without `--explain-all`.
_MOST_LINES = 12
_MOST_RANGES = 8

_GROUP = "the group"

StepData = Mapping[str, Any]


class Explain(Enum):
    """How many of the steps are printed."""

    NO = "no"
    SOME = "some"
    ALL = "all"

    @classmethod
    def of(cls, some: bool, every: bool) -> Explain:
        """Combine the two options."""
        return cls.ALL if every else cls.SOME if some else cls.NO


def note_changes(members: Sequence[MemberSubscription], before: Mapping[str, Any], steps: Steps) -> None:
    """Report the members that left since the round before, with their partitions, and those that joined."""
    if not before or not steps:
        return
    steps.stage(_GROUP)
    here = {member.member_id for member in members}
    for member_id, held in before.items():
        if member_id not in here:
            had = [TopicPartition(*partition) for partition in held]
            if had:
                steps.set_aside(had, f"{member_id}, which had {'it' if len(had) == 1 else 'them'}, has left")
            else:
                steps.note(f"{member_id} has left; it had nothing")
    for member in members:
        if member.member_id not in before:
            steps.note(f"{member.member_id} has joined")


def explanation(steps: Steps) -> dict[str, Any]:
    """Return the steps as data under `explanation`; an empty dict if none were requested."""
    if not steps:
        return {}
    found: list[dict[str, Any]] = []
    for step in steps:
        one: dict[str, Any] = {"stage": step.stage, "does": step.does}
        if step.partitions:
            one["partitions"] = [list(partition) for partition in step.partitions]
        one |= {key: value for key in ("member", "giver") if (value := getattr(step, key)) is not None}
        if step.counts is not None:
            one["counts"] = list(step.counts)
        found.append({**one, "reason": step.reason})
    return {"explanation": found}


def render_steps(result: Mapping[str, Any], explain: Explain) -> Group:
    """Render the steps of all rounds of a result, a line each, under the name of their stage."""
    name = result["assignor"]
    blocks: list[Text | Table] = []
    for number, one in enumerate([result, *result.get("steps", ())], 1):
        change = f": {one['change']}" if "change" in one else ""
        title = f"round {number}{change}" if "steps" in result else "the steps"
        blocks += [Text(f"{name}, {title}", style="bold"), _lines(one["explanation"], name, explain)]
    return Group(*blocks)


def _lines(steps: Sequence[StepData], name: str, explain: Explain) -> Table:
    table = Table.grid(padding=(0, 1))
    table.add_column(justify="right")
    table.add_column(overflow="fold")
    if all(step["stage"] == _GROUP for step in steps):
        reason = f"{name} does not explain itself: it has no `explain` of its own"
        steps = [*steps, {"stage": name, "does": "note", "reason": reason}]
    numbered = list(enumerate(steps, 1))
    for stage, group in groupby(numbered, key=lambda numbered: numbered[1]["stage"]):
        table.add_row("", Text(stage, style="italic"))
        all_of_stage = list(group)
        gap = 0 if explain is Explain.ALL else max(0, len(all_of_stage) - _MOST_LINES)
        shown = all_of_stage[: _MOST_LINES - 1] if gap else all_of_stage
        _add(table, shown, explain)
        if gap:
            table.add_row("…", f"{gap:,} steps more of this stage; --explain-all shows them")
            _add(table, all_of_stage[-1:], explain)
    return table


def _add(table: Table, numbered: Iterable[tuple[int, StepData]], explain: Explain) -> None:
    for number, step in numbered:
        table.add_row(str(number), Text(sentence(step, explain)))


def sentence(step: StepData, explain: Explain = Explain.ALL) -> str:
    """Format a step as one line."""
    partitions, reason, member = step.get("partitions", ()), step["reason"], step.get("member")
    which = listed(partitions, None if explain is Explain.ALL else _MOST_RANGES)
    it = "it" if len(partitions) == 1 else "them"
    match step["does"]:
        case "keep":
            return f"{which}: {member} keeps {it} ({reason})"
        case "give":
            return f"{which}: {member} gets {it} ({reason})"
        case "move":
            giver, taker = (f" ({count})" for count in step.get("counts", ())) if "counts" in step else ("", "")
            return f"move {which} from {step['giver']}{giver} to {member}{taker}: {reason}"
        case "withhold":
            return f"withhold {which} from {member}: {reason}"
        case "note":
            return f"{reason}: {which}" if partitions else str(reason)
        case "undo":
            return f"undo the moves: {reason}"
        case does:
            return f"{does}{f' {which}' if partitions else ''}: {reason}"


def listed(partitions: Sequence[Sequence[Any]], most: int | None = None) -> str:
    """Format partitions in order, such as `t-3` or `t 0-2, t-5, u-1`, with at most `most` ranges."""
    ranges = [
        f"{topic}{' ' if '-' in numbers[1:] else '-'}{numbers}"
        for topic, run in groupby(partitions, key=lambda one: one[0])
        for numbers in in_ranges([number for _, number in run]).split(", ")
    ]
    shown = ", ".join(ranges[:most])
    return f"{shown}, … ({len(partitions):,} in all)" if most is not None and len(ranges) > most else shown
