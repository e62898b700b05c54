"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

Source = Annotated[
    str, typer.Argument(help="A scenario file, a name from `groupsim list`, or - (stdin).", metavar="FILE|NAME")
]
Seed = Annotated[int, typer.Option("--seed", help="Seed of all that is drawn: same seed, same trace.", metavar="N")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.", metavar="")]
ExplainSome = Annotated[
    bool,
    typer.Option(
        "--explain",
        help="The steps in order: what was kept, given, set aside and moved, and why; at most 12 of a stage.",
        metavar="",
    ),
]
ExplainAll = Annotated[
    bool,
    typer.Option(
        "--explain-all", help="The same with every step and every partition; --json always has them.", metavar=""
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", help="Change a value: a path of the scenario, and YAML.", metavar="PATH=VALUE"),
]
Varied = Annotated[
    list[str] | None,
    typer.Option(
        "--vary", help="Compare these values of a scenario; the first is the baseline.", metavar="PATH=VALUE,…"
    ),
]
Goals = Annotated[
    list[str] | None,
    typer.Option("--goal", help="Judge by this, then by the next: METRIC, METRIC<=LIMIT.", metavar="METRIC"),
]
Traceback = Annotated[
    bool, typer.Option("--traceback", help="Show the traceback of what failed, yours included.", metavar="")
]
