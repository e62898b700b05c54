"""The commands that ask a sweep's tables."""

from __future__ import annotations

from typing import Annotated

import typer

from groupsim.cli.guard import guarded
from groupsim.cli.options import engine as engine_options
from groupsim.cli.options.common import AsJson, Traceback

Swept = Annotated[str, typer.Argument(help="What `groupsim sweep … --out DIR` wrote.", metavar="DIR")]
AsCsv = Annotated[bool, typer.Option("--csv", help="Print CSV instead of tables.", metavar="")]


@guarded
def sql(
    directory: Swept,
    query: Annotated[str, typer.Argument(help="A query over the tables; `groupsim tables` has them.", metavar="SQL")],
    engine: Annotated[
        str,
        typer.Option("--engine", help="duckdb; spark; auto: duckdb, where it is installed.", metavar="NAME"),
    ] = "auto",
    master: engine_options.Master = None,
    remote: engine_options.Remote = None,
    conf: engine_options.Conf = None,
    as_csv: AsCsv = False,
    as_json: AsJson = False,
    traceback: Traceback = False,
) -> None:
    """Ask the tables of a sweep; the directory is only read.

    Examples:

    - `groupsim sql results/ "select cause, count(*) as n from changes where not first_start group by cause"`
    - `groupsim sql results/ "select value, avg(unserved_us) from runs join cells using (cell) group by value"`
    - `groupsim sql results/ "from changes" --csv > changes.csv`
    - `groupsim sql s3a://bucket/results "select * from runs" --master spark://head:7077 --json`
    """
    from groupsim.cli.commands import tables as tables_command

    options = engine_options.of("auto", master, remote, None, conf)
    raise typer.Exit(tables_command.sql(directory, query, engine, options, as_json, as_csv))


@guarded
def tables(
    directory: Swept,
    names: Annotated[list[str] | None, typer.Argument(help="Only these tables.", metavar="TABLE")] = None,
    as_csv: AsCsv = False,
    as_json: AsJson = False,
    traceback: Traceback = False,
) -> None:
    """Say what a sweep's tables hold: how many rows, which columns, and what they mean.

    Examples:

    - `groupsim tables results/`
    - `groupsim tables results/ changes stops`
    - `groupsim tables results/ --csv`
    """
    from groupsim.cli.commands import tables as tables_command

    raise typer.Exit(tables_command.tables(directory, names or [], as_json, as_csv))


@guarded
def compact(
    directory: Swept,
    conf: engine_options.Conf = None,
    traceback: Traceback = False,
) -> None:
    """Write a large sweep's tables again: by cells, in files of about 128 MB.

    Rows and answers stay the same. It may be interrupted, and nothing is lost.

    Examples:

    - `groupsim compact results/`
    - `groupsim compact s3a://bucket/results`
    """
    from groupsim.cli.commands import tables as tables_command

    settings = engine_options.of("auto", None, None, None, conf).conf
    raise typer.Exit(tables_command.compact(directory, settings))


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("sql")(sql)
    app.command("tables")(tables)
    app.command("compact")(compact)
