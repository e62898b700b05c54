"""The command lines of `groupsim segment` and `groupsim coordinator`, which need no run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from groupsim.cli.guard import guarded
from groupsim.cli.options.common import AsJson, Traceback

_PARTITIONS = 50


@guarded
def segment(
    path: Annotated[Path, typer.Argument(help="A segment (….log) or a partition's folder.", metavar="FILE|DIR")],
    offset: Annotated[int | None, typer.Option("--offset", help="Show how this offset is found.", metavar="N")] = None,
    every: Annotated[bool, typer.Option("--all", help="List all batches of a long segment.", metavar="")] = False,
    as_json: AsJson = False,
    traceback: Traceback = False,
) -> None:
    """List the batches and index entries of a log segment, or show how an offset is found in it.

    The segment may be one of Kafka's or of `groupsim run --data-dir`. It is only read.

    Examples:

    - `groupsim segment /var/lib/kafka/data/orders-0`
    - `groupsim segment /var/lib/kafka/data/orders-0/00000000000000000000.log --offset 500`
    """
    from groupsim.cli.commands import segment as segment_command

    raise typer.Exit(segment_command.segment(path, offset, every, as_json))


@guarded
def coordinator(
    groups: Annotated[
        list[str] | None, typer.Argument(help="Group ids; `-` reads one per line from stdin.", metavar="GROUP…")
    ] = None,
    brokers: Annotated[int, typer.Option("--brokers", min=1, help="Number of brokers.", metavar="N")] = 3,
    partitions: Annotated[
        int, typer.Option("--partitions", min=1, help="Number of partitions of __consumer_offsets.", metavar="N")
    ] = _PARTITIONS,
    as_json: AsJson = False,
    traceback: Traceback = False,
) -> None:
    """Show the partition of __consumer_offsets of each group, its leader, and the groups that share it.

    Examples:

    - `groupsim coordinator orders billing`
    - `kafka-consumer-groups.sh --bootstrap-server HOST:9092 --list | groupsim coordinator - --brokers 5`
    """
    from groupsim.cli.commands import coordinator as coordinator_command

    raise typer.Exit(coordinator_command.coordinator(groups or [], brokers, partitions, as_json))


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.command("segment")(segment)
    app.command("coordinator")(coordinator)
