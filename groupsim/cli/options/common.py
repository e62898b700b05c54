"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

Source = Annotated[
    str, typer.Argument(help="A scenario file, a name from `groupsim list`, or - (stdin).", metavar="FILE|NAME")
]
Seed = Annotated[int, typer.Option("--seed", help="Random seed; the same seed gives the same trace.", metavar="N")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.", metavar="")]
ExplainSome = Annotated[
    bool,
    typer.Option(
        "--explain",
        help="Print the steps of the assignor with their reasons, at most 12 steps per stage.",
        metavar="",
    ),
]
ExplainAll = Annotated[
    bool,
    typer.Option("--explain-all", help="Print every step and every partition; --json always has them.", metavar=""),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", help="Change a value of the scenario; VALUE is YAML.", metavar="PATH=VALUE"),
]
Varied = Annotated[
    list[str] | None,
    typer.Option(
        "--vary", help="Compare these values of the scenario; the first is the baseline.", metavar="PATH=VALUE,…"
    ),
]
Goals = Annotated[
    list[str] | None,
    typer.Option("--goal", help="METRIC or METRIC<=LIMIT; repeated, the first matters most.", metavar="METRIC"),
]
Traceback = Annotated[
    bool, typer.Option("--traceback", help="Print the traceback of an error, also of your own code.", metavar="")
]
