"""The options for the engine of a sweep and its analysis, shared by `sweep`, `answer` and `report`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from groupsim.cli.exits import Trouble

if TYPE_CHECKING:
    from groupsim.pipeline.sweep import EngineOptions

Engine = Annotated[
    str,
    typer.Option(
        "--engine",
        help="pool: local processes; spark; auto: pool for a short sweep, else spark.",
        metavar="NAME",
    ),
]
Master = Annotated[
    str | None, typer.Option("--master", help="Run on this Spark master: local[N], spark://…, yarn.", metavar="URL")
]
Remote = Annotated[str | None, typer.Option("--remote", help="Run on this Spark Connect server: sc://…", metavar="URL")]
Conf = Annotated[list[str] | None, typer.Option("--conf", help="Spark setting; may be repeated.", metavar="KEY=VALUE")]


def of(
    engine: str, master: str | None, remote: str | None, workers: int | None, conf: list[str] | None
) -> EngineOptions:
    """Build the pipeline's options from those of the command line. Raises Trouble for a setting without a value."""
    from groupsim.pipeline.sweep import EngineOptions

    settings: dict[str, str] = {}
    for text in conf or []:
        key, sign, value = text.partition("=")
        if not sign or not key.strip():
            raise Trouble(f"--conf {text}: not a setting", "write --conf spark.executor.memory=4g")
        settings[key.strip()] = value
    return EngineOptions(engine, master, remote, workers, settings)
