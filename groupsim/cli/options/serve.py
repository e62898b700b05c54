"""The options of `groupsim serve`, as typer wants them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Served = Annotated[
    str | None, typer.Argument(help="A scenario to serve; without it, a bare cluster.", metavar="FILE|NAME")
]
Port = Annotated[int, typer.Option("--port", help="Of broker 0, the others follow; 0: any free ones.", metavar="N")]
Brokers = Annotated[int | None, typer.Option("--brokers", help="How many; 3, or the scenario's.", metavar="N")]
Topics = Annotated[
    list[str] | None, typer.Option("--topic", help="Make a topic.", metavar="NAME:PARTITIONS[:REPLICAS]")
]
BrokerSettings = Annotated[
    list[str] | None, typer.Option("--broker", help="A broker setting by Kafka's name.", metavar="KEY=VALUE")
]
Listen = Annotated[
    str, typer.Option("--listen", help="Where to listen; off loopback the control port needs a token.", metavar="IP")
]
AdvertisedHost = Annotated[
    str | None, typer.Option("--advertised-host", help="What clients are told to connect to.", metavar="HOST")
]
ControlPort = Annotated[
    int | None,
    typer.Option("--control-port", help="Of the control port; 9080, or any free one with --port 0.", metavar="N"),
]
Token = Annotated[
    str | None,
    typer.Option(
        "--token",
        help="The control port's token; else one is made when needed.",
        metavar="TEXT",
        envvar="GROUPSIM_TOKEN",
    ),
]
ApiProfile = Annotated[
    str, typer.Option("--api-profile", help="Whose versions clients are told: 2.8, 3.9, 4.x …", metavar="RELEASE")
]
DataDir = Annotated[
    Path | None, typer.Option("--data-dir", help="Keep logs and metadata; go on from them.", metavar="DIR")
]
ReadyFile = Annotated[
    Path | None, typer.Option("--ready-file", help="Written, as JSON, when everything listens.", metavar="FILE")
]
TraceFile = Annotated[Path | None, typer.Option("--trace", help="Write the trace: .jsonl or .parquet.", metavar="FILE")]
WithoutMembers = Annotated[
    bool, typer.Option("--without-members", help="Serve the scenario's cluster and topics only.", metavar="")
]
LogJson = Annotated[bool, typer.Option("--log-json", help="Log JSON lines.", metavar="")]
FreshSeed = Annotated[
    int | None, typer.Option("--seed", help="Of what is drawn, ids included; a new one if not given.", metavar="N")
]


def control_port(asked: int | None, port: int) -> int:
    """The control port: the one asked for, else 9080, or any free one where the brokers' ports are any free ones."""
    if asked is not None:
        return asked
    return 9080 if port else 0
