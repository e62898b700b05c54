"""How much Python a group runs, counted: the same in every run, however busy the machine is.

    python -m benchmarks.instructions [--members 100] [--level off] [--json]

A second of CPU is worth less on a machine that others use. This counts instead what Python carries out, bytecode
instruction by instruction, while a group forms, loses a member by a crash and is stable again: two virtual minutes, as
in the second table of `benchmarks.heartbeats`. So it says whether a change made a room do more (of trio's own some may
differ). It does not say what an instruction costs: that of a call into C may be anything. Figures of two versions
of Python cannot be compared.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import groupsim.coordinator
from benchmarks.common import group, table, tracing
from groupsim.eventloop.units import SECOND_US
from groupsim.eventloop.virtual import VirtualLoop, run_virtual

ROOMS = Path(str(groupsim.coordinator.__file__)).parent.parent


def churn(members: int, level: str) -> None:
    """Form, lose one, be stable again."""

    async def main(loop: VirtualLoop) -> None:
        cluster, consumers = group(loop, members)
        await loop.sleep(30 * SECOND_US)
        consumers[members // 2].crash()
        await loop.sleep(90 * SECOND_US)
        found = cluster.snapshot("group")
        assert found is not None
        assert (found.state, len(found.members)) == ("Stable", members - 1)

    run_virtual(main, trace=tracing(level))


def counted(run: Callable[[], None]) -> tuple[Counter[str], Counter[str]]:
    """Calls of Python functions and instructions of `run`, by room; what is made once was made by a run before."""
    calls: Counter[str] = Counter()
    instructions: Counter[str] = Counter()
    rooms: dict[str, str] = {}

    def called(frame: FrameType, event: str, arg: Any) -> Any:
        path = frame.f_code.co_filename
        room = rooms.get(path)
        if room is None:
            room = rooms[path] = _room(path)
        calls[room] += 1
        frame.f_trace_lines, frame.f_trace_opcodes = False, True

        def carried_out(frame: FrameType, event: str, arg: Any) -> Any:
            instructions[room] += event == "opcode"
            return carried_out

        return carried_out

    run()
    before = sys.gettrace()
    sys.settrace(called)
    try:
        run()
    finally:
        sys.settrace(before)
    return calls, instructions


def _room(path: str) -> str:
    parts = Path(path).relative_to(ROOMS).parts if Path(path).is_relative_to(ROOMS) else ()
    return parts[0] if parts and (ROOMS / parts[0] / "__init__.py").exists() else "Python and libraries"


def main() -> None:
    """Count, and show."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--members", type=int, default=100, help="of the group")
    parser.add_argument("--level", default="off", choices=("off", "normal", "full"), help="of the trace")
    parser.add_argument("--json", action="store_true", help="rows instead of a table")
    asked = parser.parse_args()
    calls, instructions = counted(lambda: churn(asked.members, asked.level))
    rows = [(room, calls[room], count) for room, count in instructions.most_common()]
    rows.append(("all", calls.total(), instructions.total()))
    if asked.json:
        print(json.dumps([dict(zip(("room", "calls", "instructions"), row, strict=True)) for row in rows]))
    else:
        title = f"{asked.members} members, trace {asked.level}, Python {sys.version.split()[0]}"
        shown = [[room, f"{one:,}", f"{other:,}", f"{other // asked.members:,}"] for room, one, other in rows]
        table(title, ["room", "calls", "instructions", "for each member"], shown)


if __name__ == "__main__":
    main()
