"""The options of `groupsim serve`, as typer annotations."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Served = Annotated[
    str | None, typer.Argument(help="Scenario to serve; default: a cluster without topics.", metavar="FILE|NAME")
]
Port = Annotated[int, typer.Option("--port", help="First port of the brokers; 0: any free ports.", metavar="N")]
Brokers = Annotated[
    int | None, typer.Option("--brokers", help="Number of brokers; default: the scenario's, or 3.", metavar="N")
]
Topics = Annotated[
    list[str] | None, typer.Option("--topic", help="Create a topic.", metavar="NAME:PARTITIONS[:REPLICAS]")
]
BrokerSettings = Annotated[
    list[str] | None, typer.Option("--broker", help="Broker setting under Kafka's name.", metavar="KEY=VALUE")
]
Listen = Annotated[
    str, typer.Option("--listen", help="Address to listen on; outside loopback the token is required.", metavar="IP")
]
AdvertisedHost = Annotated[
    str | None, typer.Option("--advertised-host", help="Host that brokers advertise to clients.", metavar="HOST")
]
ControlPort = Annotated[
    int | None,
    typer.Option("--control-port", help="Control port; default: 9080, or any free port with --port 0.", metavar="N"),
]
Token = Annotated[
    str | None,
    typer.Option(
        "--token",
        help="Token of the control port; default: one is made when required.",
        metavar="TEXT",
        envvar="GROUPSIM_TOKEN",
    ),
]
ApiProfile = Annotated[
    str, typer.Option("--api-profile", help="Kafka release of the API versions: 2.8, 3.9, 4.x …", metavar="RELEASE")
]
DataDir = Annotated[
    Path | None, typer.Option("--data-dir", help="Keep logs and metadata here; a restart uses them.", metavar="DIR")
]
ReadyFile = Annotated[
    Path | None, typer.Option("--ready-file", help="JSON file to write when every port listens.", metavar="FILE")
]
TraceFile = Annotated[Path | None, typer.Option("--trace", help="Write the trace: .jsonl or .parquet.", metavar="FILE")]
WithoutMembers = Annotated[
    bool, typer.Option("--without-members", help="Serve the scenario's cluster and topics only.", metavar="")
]
LogJson = Annotated[bool, typer.Option("--log-json", help="Log in JSON, one object per line.", metavar="")]
FreshSeed = Annotated[
    int | None, typer.Option("--seed", help="Random seed, also of ids; default: a new one.", metavar="N")
]


def control_port(asked: int | None, port: int) -> int:
    """Return the requested control port, else 9080, or 0 (any free port) if `port` is 0."""
    if asked is not None:
        return asked
    return 9080 if port else 0
