"""The options of `groupsim lint`, as typer wants them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Files = Annotated[
    list[str] | None, typer.Argument(help="Scenario, experiment or .properties; `-` reads stdin.", metavar="FILE…")
]
Client = Annotated[
    str | None,
    typer.Option("--client", help="Whose properties: java-3.9, librdkafka-2.x, kafkajs …", metavar="CLIENT"),
]
Broker = Annotated[str | None, typer.Option("--broker", help="The brokers' version.", metavar="VERSION")]
BrokerProperties = Annotated[
    Path | None, typer.Option("--broker-properties", help="The brokers' server.properties.", metavar="FILE")
]
BrokerSettings = Annotated[
    list[str] | None, typer.Option("--set", help="A setting of the brokers.", metavar="KEY=VALUE")
]
Target = Annotated[
    str | None,
    typer.Option("--target", help="What changes with group.protocol=consumer (KIP-848).", metavar="KEY=VALUE"),
]
Strict = Annotated[bool, typer.Option("--strict", help="Notes count for the exit code too.", metavar="")]
Format = Annotated[
    str,
    typer.Option("--format", help="text, json, or for CI: annotations, junit, sarif.", metavar="FORMAT"),
]
Rules = Annotated[bool, typer.Option("--rules", help="List the rules, and end.", metavar="")]
