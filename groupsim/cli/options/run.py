"""The options of `groupsim run`, as typer annotations."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Seeds = Annotated[
    int | None,
    typer.Option("--seeds", help="Run N seeds from --seed on, each with shifted steps; print ranges.", metavar="N"),
]
TraceFile = Annotated[Path | None, typer.Option("--trace", help="Write the trace: .jsonl or .parquet.", metavar="FILE")]
Junit = Annotated[
    Path | None, typer.Option("--junit", help="Write the expectations as JUnit XML, for CI.", metavar="FILE.xml")
]
Sources = Annotated[
    list[str],
    typer.Argument(
        help="Scenario files, names from `groupsim list`, or - (stdin); several run one after another.",
        metavar="FILE|NAME…",
    ),
]
Logs = Annotated[
    Path | None, typer.Option("--logs", help="Write broker and client logs with Kafka's messages.", metavar="DIR")
]
Report = Annotated[Path | None, typer.Option("--report", help="Write an HTML page with plots.", metavar="FILE.html")]
Svg = Annotated[
    Path | None,
    typer.Option("--svg", help="Draw lanes and generations; with --rebalance draw it, animated.", metavar="FILE.svg"),
]
DataDir = Annotated[
    Path | None, typer.Option("--data-dir", help="Write the brokers' logs in Kafka's file format.", metavar="DIR")
]
Fetches = Annotated[
    bool, typer.Option("--fetches", help="Print each member's fetches: sent, empty, time waited.", metavar="")
]
Owners = Annotated[bool, typer.Option("--owners", help="Print every assignment of every member, uncut.", metavar="")]
Checks = Annotated[bool, typer.Option("--checks", help="Print every expectation, also those that hold.", metavar="")]
Rebalance = Annotated[
    int | None,
    typer.Option("--rebalance", help="Print the requests of the rebalance to generation N, in order.", metavar="N"),
]
Group = Annotated[
    str | None, typer.Option("--group", help="Print this group only, also with --rebalance.", metavar="GROUP")
]
Every = Annotated[
    bool,
    typer.Option(
        "--all", help="Print every line; with --rebalance every member, with --seeds every group.", metavar=""
    ),
]
Mermaid = Annotated[bool, typer.Option("--mermaid", help="Print --rebalance as a Mermaid diagram.", metavar="")]
