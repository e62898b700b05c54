"""Draw docs/states.md from the tables of states, so that the diagrams cannot drift from the code.

python tools/draw_states.py            write docs/states.md
python tools/draw_states.py --check    exit 1 when the file is not what would be written
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from groupsim.coordinator.classic.states import CAN_REBALANCE, TRANSITIONS, State, TransitionCause
from groupsim.members.consumer_protocol.states import PREDECESSORS, MemberState

TARGET = Path(__file__).resolve().parent.parent / "docs" / "states.md"

HEAD = """# The states of a classic group

<!-- Written by tools/draw_states.py from coordinator/classic/states.py. Do not edit: a test compares the two. -->

The state says where a group is in its conversation; `coordinator/classic/states.py` has an essay on it. This page is
drawn from the table in that file, which is also what the coordinator itself runs on: a way that is not in the table
cannot be taken. Names are those Kafka's tools print.
"""

OF_MEMBERS = """## The states of a member under the consumer protocol

A member of a consumer group (KIP-848) has states of its own; `members/consumer_protocol/states.py` has the table, which
the client itself runs on. Names are those of the Java client's `MemberState`.
"""

NEXT = "Next: [what each state answers](answers.md), and [how a rebalance works](how-a-rebalance-works.md)."


def page() -> str:
    """The whole page."""
    classic = (HEAD, *diagram(), "", *table(), "", *meanings(), "")
    return "\n".join((*classic, OF_MEMBERS, *member_diagram(), "", *member_table(), "", NEXT, ""))


def diagram() -> list[str]:
    """A mermaid state diagram: one arrow per pair of states, with every cause that takes it."""
    lines = ["```mermaid", "stateDiagram-v2", "    [*] --> Empty"]
    for state, ways in TRANSITIONS.items():
        for target in dict.fromkeys(ways.values()):
            if target is not state:
                causes = [cause.value for cause, following in ways.items() if following is target]
                lines.append(f"    {state.printed} --> {target.printed}: {'<br/>'.join(causes)}")
    return [*lines, "    Dead --> [*]", "```"]


def table() -> list[str]:
    """State × cause → next state; empty where the table has no way."""
    states = [state for state in State if state is not State.DEAD]
    lines = ["| cause | " + " | ".join(state.printed for state in states) + " |"]
    lines.append("| --- |" + " --- |" * len(states))
    for cause in TransitionCause:
        following = [TRANSITIONS[state].get(cause) for state in states]
        lines.append(
            f"| `{cause.value}` | " + " | ".join(target.printed if target else "" for target in following) + " |"
        )
    opening = ", ".join(state.printed for state in states if state in CAN_REBALANCE)
    return [*lines, "", f"A new round can be opened from: {opening}. Dead has no way out."]


def meanings() -> list[str]:
    """The causes in words."""
    return [
        "| cause | meaning |",
        "| --- | --- |",
        *(f"| `{cause.value}` | {cause.meaning} |" for cause in TransitionCause),
    ]


def member_diagram() -> list[str]:
    """A mermaid state diagram of a member under the consumer protocol."""
    lines = ["```mermaid", "stateDiagram-v2", "    [*] --> UNSUBSCRIBED"]
    for state, before in PREDECESSORS.items():
        lines += [f"    {one} --> {state}" for one in before if one is not state]
    return [*lines, "    FATAL --> [*]", "```"]


def member_table() -> list[str]:
    """Each state of a member: what it means, and the states from which it may be entered."""
    lines = ["| state | meaning | may be entered from |", "| --- | --- | --- |"]
    lines += [f"| {one} | {one.meaning} | {', '.join(PREDECESSORS[one])} |" for one in MemberState]
    return lines


def main() -> int:
    """Write the page, or check it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare only; exit 1 when they differ")
    if parser.parse_args().check:
        same = TARGET.exists() and TARGET.read_text(encoding="utf-8") == page()
        if not same:
            print(
                "docs/states.md is not what the tables of states say: run `python tools/draw_states.py`",
                file=sys.stderr,
            )
        return 0 if same else 1
    TARGET.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
