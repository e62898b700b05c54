"""The options of `groupsim lint`, as typer annotations."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Files = Annotated[
    list[str] | None, typer.Argument(help="Scenario, experiment or .properties; `-` reads stdin.", metavar="FILE…")
]
Client = Annotated[
    str | None,
    typer.Option("--client", help="Client of the properties: java-3.9, librdkafka-2.x, kafkajs …", metavar="CLIENT"),
]
Broker = Annotated[str | None, typer.Option("--broker", help="Version of the brokers.", metavar="VERSION")]
BrokerProperties = Annotated[
    Path | None, typer.Option("--broker-properties", help="File server.properties of the brokers.", metavar="FILE")
]
BrokerSettings = Annotated[
    list[str] | None, typer.Option("--set", help="Broker setting; may be repeated.", metavar="KEY=VALUE")
]
Target = Annotated[
    str | None,
    typer.Option("--target", help="Report what changes with group.protocol=consumer (KIP-848).", metavar="KEY=VALUE"),
]
Strict = Annotated[bool, typer.Option("--strict", help="Exit with code 1 for notes too.", metavar="")]
Format = Annotated[
    str,
    typer.Option("--format", help="text, json, or for CI annotations, junit or sarif.", metavar="FORMAT"),
]
Rules = Annotated[bool, typer.Option("--rules", help="List the rules and exit.", metavar="")]
