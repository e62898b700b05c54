"""The command lines of `groupsim sql`, `groupsim tables` and `groupsim compact`."""

from __future__ import annotations

from typing import Annotated

import typer

from groupsim.cli.guard import guarded
from groupsim.cli.options import engine as engine_options
from groupsim.cli.options.common import AsJson, Traceback

Swept = Annotated[str, typer.Argument(help="Output directory of `groupsim sweep`.", metavar="DIR")]
AsCsv = Annotated[bool, typer.Option("--csv", help="Print CSV instead of tables.", metavar="")]


@guarded
def sql(
    directory: Swept,
    query: Annotated[str, typer.Argument(help="SQL query; `groupsim tables` lists the tables.", metavar="SQL")],
    engine: Annotated[
        str,
        typer.Option("--engine", help="duckdb, spark, or auto: duckdb if it is installed, else spark.", metavar="NAME"),
    ] = "auto",
    master: engine_options.Master = None,
    remote: engine_options.Remote = None,
    conf: engine_options.Conf = None,
    as_csv: AsCsv = False,
    as_json: AsJson = False,
    traceback: Traceback = False,
) -> None:
    """Query the tables of a sweep with SQL.

    The directory is only read.

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
    names: Annotated[list[str] | None, typer.Argument(help="Describe these tables only.", metavar="TABLE")] = None,
    as_csv: AsCsv = False,
    as_json: AsJson = False,
    traceback: Traceback = False,
) -> None:
    """Describe the tables of a sweep: number of rows, columns, and what each column means.

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
    """Rewrite the tables of a large sweep, sorted by cell, in files of about 128 MB.

    Rows and answers stay the same. An interruption loses no row.

    Examples:

    - `groupsim compact results/`
    - `groupsim compact s3a://bucket/results`
    """
    from groupsim.cli.commands import tables as tables_command

    settings = engine_options.of("auto", None, None, None, conf).conf
    raise typer.Exit(tables_command.compact(directory, settings))


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.command("sql")(sql)
    app.command("tables")(tables)
    app.command("compact")(compact)
