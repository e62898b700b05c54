"""The options of `groupsim run`, as typer wants them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Seeds = Annotated[
    int | None,
    typer.Option("--seeds", help="Run N seeds from --seed on, steps out of phase; print the range.", metavar="N"),
]
TraceFile = Annotated[Path | None, typer.Option("--trace", help="Write the trace: .jsonl or .parquet.", metavar="FILE")]
Junit = Annotated[
    Path | None, typer.Option("--junit", help="Write the expectations as JUnit XML, for CI.", metavar="FILE.xml")
]
Sources = Annotated[
    list[str],
    typer.Argument(
        help="A scenario file, a name from `groupsim list`, or - (stdin); several are run one by one.",
        metavar="FILE|NAME…",
    ),
]
Logs = Annotated[
    Path | None, typer.Option("--logs", help="Write broker and client logs in Kafka's words.", metavar="DIR")
]
Report = Annotated[
    Path | None, typer.Option("--report", help="Write a page with plots, for a browser.", metavar="FILE.html")
]
Svg = Annotated[
    Path | None,
    typer.Option(
        "--svg", help="Draw the lanes and generations; with --rebalance, that one, animated.", metavar="FILE.svg"
    ),
]
DataDir = Annotated[
    Path | None, typer.Option("--data-dir", help="Keep the brokers' logs as Kafka's files.", metavar="DIR")
]
Fetches = Annotated[
    bool, typer.Option("--fetches", help="Count each member's fetches: sent, empty, waited.", metavar="")
]
Owners = Annotated[
    bool, typer.Option("--owners", help="Who owns what: every member, every assignment, nothing cut.", metavar="")
]
Checks = Annotated[bool, typer.Option("--checks", help="Every expectation, those that hold, too.", metavar="")]
Rebalance = Annotated[
    int | None,
    typer.Option("--rebalance", help="The requests of one rebalance in order, by its generation.", metavar="N"),
]
Group = Annotated[
    str | None, typer.Option("--group", help="Show this group alone; of --rebalance: the group.", metavar="GROUP")
]
Every = Annotated[
    bool,
    typer.Option(
        "--all", help="Every line of every part; with --rebalance each member, with --seeds each group.", metavar=""
    ),
]
Mermaid = Annotated[bool, typer.Option("--mermaid", help="Of --rebalance: as a Mermaid diagram.", metavar="")]
