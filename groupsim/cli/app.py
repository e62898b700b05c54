"""The command `groupsim`: options, help texts, and calls of the modules in `commands`.

Exit codes: 0 success, 1 an expectation failed, 2 bad input, 3 the run failed, 130 ctrl-C.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from groupsim.cli import app_init, app_looking, app_run, app_tables
from groupsim.cli.encoding import make_printable
from groupsim.cli.exits import BAD_INPUT, complain
from groupsim.cli.guard import guarded
from groupsim.cli.options import engine as engine_options
from groupsim.cli.options import lint as lint_options
from groupsim.cli.options import serve as serve_options
from groupsim.cli.options.common import (
    AsJson,
    ExplainAll,
    ExplainSome,
    Goals,
    Seed,
    Settings,
    Source,
    Traceback,
    Varied,
)
from groupsim.cli.streams import failure_of_output, outlive_readers
from groupsim.cli.usage_errors import Commands

app = typer.Typer(
    name="groupsim",
    cls=Commands,
    help="A laboratory for Apache Kafka consumer groups: coordinator, cluster and consumers in virtual time.",
    epilog="Start with `groupsim run demo`; `groupsim list` shows the library.  \n"
    "Exit codes: 0 success, 1 an expectation failed, 2 bad input, 3 the run failed, 130 ctrl-C.",
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib import metadata

        typer.echo(f"groupsim {metadata.version('groupsim')}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", metavar="", callback=_version, is_eager=True)
    ] = False,
) -> None:
    pass


app_init.register(app)
app_run.register(app)


@app.command("diff")
@guarded
def diff(
    sources: Annotated[
        list[str],
        typer.Argument(
            help="Two scenarios, manifests or traces (.jsonl, .parquet); one with --set; files with --git.",
            metavar="A [B] | FILE…",
        ),
    ],
    revision: Annotated[
        str | None,
        typer.Option(
            "--git", help="Compare a rollout of the files with one of their version at this revision.", metavar="REV"
        ),
    ] = None,
    group: Annotated[str | None, typer.Option("--group", help="Only this group.", metavar="GROUP")] = None,
    seed: Seed = 0,
    setting: Settings = None,
    as_json: AsJson = False,
    traceback: Traceback = False,
) -> None:
    """Compare two runs with the same seed: the first difference, and the figures that it changed.

    With `--git` the files are those that `groupsim init` reads, or a scenario. A rollout of both versions runs. The
    result is Markdown for a pull request. Two Kubernetes manifests are compared in the same way. `--set` answers
    questions of the draft, for both versions.

    Examples:

    - `groupsim diff rollout.yaml rollout-static.yaml --seed 7`
    - `groupsim diff --git main deployment.yaml application.yml`
    - `groupsim diff before/deployment.yaml after/deployment.yaml`
    - `groupsim diff demo --set groups.g1.properties.session.timeout.ms=10000`
    - `groupsim diff before.jsonl after.jsonl`
    """
    from groupsim.cli.commands import diff as diff_command

    if revision is not None:
        from groupsim.cli.drafting.pull_request import diff_git

        raise typer.Exit(diff_git(revision, sources, seed, setting or [], as_json))
    if len(sources) == 2:
        from groupsim.cli.drafting.pull_request import are_manifests, diff_manifests

        if are_manifests(sources):
            raise typer.Exit(diff_manifests(sources[0], sources[1], seed, setting or [], as_json))
    raise typer.Exit(diff_command.diff(*diff_command.pair(sources), seed, setting or [], as_json, group))


@app.command("describe")
@guarded
def describe(
    source: Source,
    at: Annotated[str, typer.Option("--at", help="Virtual time, such as 40s or 1m30s.", metavar="TIME")],
    group: Annotated[str | None, typer.Option("--group", help="Only this group.", metavar="GROUP")] = None,
    cluster: Annotated[bool, typer.Option("--cluster", help="Show the replicas too.", metavar="")] = False,
    seed: Seed = 0,
    setting: Settings = None,
    as_json: AsJson = False,
    traceback: Traceback = False,
) -> None:
    """Show the groups of a run at an instant of virtual time: state, members, timers, unanswered requests.

    Examples:

    - `groupsim describe demo --at 40s`
    - `groupsim describe my.yaml --at 1m30s --group orders --json`
    - `groupsim describe acks-1-leader-dies --at 30s --cluster`
    """
    from groupsim.cli.commands import describe as describe_command

    raise typer.Exit(describe_command.describe(source, at, group, seed, setting or [], as_json, cluster))


@app.command("offsets")
@guarded
def offsets(
    source: Annotated[
        str,
        typer.Argument(help="A scenario, or a data directory, partition or segment (.log).", metavar="FILE|NAME|DIR"),
    ],
    at: Annotated[
        str | None, typer.Option("--at", help="Virtual time of the run, such as 40s; default: its end.", metavar="TIME")
    ] = None,
    group: Annotated[str | None, typer.Option("--group", help="Only this group.", metavar="GROUP")] = None,
    topic: Annotated[str | None, typer.Option("--topic", help="Only offsets of this topic.", metavar="TOPIC")] = None,
    live: Annotated[
        bool, typer.Option("--live/--all", help="Live records only, or superseded ones too.", metavar="")
    ] = False,
    seed: Seed = 0,
    setting: Settings = None,
    as_json: AsJson = False,
    traceback: Traceback = False,
) -> None:
    """Print the decoded records of `__consumer_offsets`: live records, and the records that they superseded.

    Segments may be Kafka's own. They are only read. With `--json` times are Kafka's: `timestamp_ms`,
    `commit_timestamp`, `expire_timestamp` and `current_state_timestamp` are milliseconds since 1970.

    Examples:

    - `groupsim offsets demo --at 40s`
    - `groupsim offsets my.yaml --group orders --live --json`
    - `groupsim offsets /var/lib/kafka/data --group orders`
    - `groupsim offsets /var/lib/kafka/data/__consumer_offsets-12/00000000000000000000.log`
    """
    from groupsim.cli.commands import offsets as offsets_command

    asked = offsets_command.RecordFilter(group, topic, live)
    raise typer.Exit(offsets_command.offsets(source, at, seed, setting or [], asked, as_json))


@app.command("list")
@guarded
def list_(
    words: Annotated[
        list[str] | None,
        typer.Argument(help="Words that a name or a file contains, or a line that a run logs.", metavar="WORD…"),
    ] = None,
    experiments: Annotated[
        bool, typer.Option("--experiments", help="List experiments instead of scenarios.", metavar="")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List the scenarios of the library, or its experiments.

    Examples:

    - `groupsim list`
    - `groupsim list group.instance.id`
    - `groupsim list "Attempt to heartbeat failed since group is rebalancing"`
    - `groupsim list --experiments deploy`
    """
    from groupsim.cli.commands import library

    listing = library.list_experiments if experiments else library.list_scenarios
    raise typer.Exit(listing(words or [], as_json))


@app.command("explain")
@guarded
def explain(
    paths: Annotated[
        list[str], typer.Argument(help="Log files, folders of logs, or - for standard input.", metavar="PATH…")
    ],
    as_json: AsJson = False,
) -> None:
    """Explain an incident by the logs of brokers and clients: what happened to each group, and what helps.

    For each group it prints the headline, the line that says so, the usual reason, and scenes of the library like it.

    Examples:

    - `groupsim explain incident/`
    - `groupsim explain broker-0.log app.log.gz --json`
    - `kubectl logs -l app=orders --prefix | groupsim explain -`
    """
    from groupsim.cli.commands import explain as explain_command

    raise typer.Exit(explain_command.explain(paths, as_json))


@app.command("validate")
@guarded
def validate(
    files: Annotated[list[str], typer.Argument(help="Files, or names of the library.", metavar="FILE…")],
    as_json: AsJson = False,
) -> None:
    """Check scenario and experiment files without running them.

    Each mistake is printed with its place and its remedy.

    Example: `groupsim validate scenarios/*.yaml`
    """
    from groupsim.cli.commands import validate as validate_command

    raise typer.Exit(validate_command.validate(files, as_json))


@app.command("lint")
@guarded
def lint(
    files: lint_options.Files = None,
    client: lint_options.Client = None,
    broker: lint_options.Broker = None,
    broker_properties: lint_options.BrokerProperties = None,
    setting: lint_options.BrokerSettings = None,
    target: lint_options.Target = None,
    strict: lint_options.Strict = False,
    rules: lint_options.Rules = False,
    format_: lint_options.Format = "text",
    as_json: AsJson = False,
    traceback: Traceback = False,
) -> None:
    """Find settings without effect, settings that contradict each other, and settings outside the broker's range.

    Each finding has its reason. Exit codes: 0 at most notes, 1 an error or a warning, 2 a file that cannot be read.

    Examples:

    - `groupsim lint consumer.properties --client java-3.9 --broker 3.9`
    - `groupsim lint my-rollout.yaml --strict`
    - `groupsim lint application.yml --format annotations`
    - `groupsim lint consumer.properties --client java-4.0 --target group.protocol=consumer`
    - `cat librdkafka.conf | groupsim lint - --client librdkafka-2.x --set group.max.session.timeout.ms=60000`
    """
    from groupsim.cli.commands import lint as lint_command

    if rules:
        raise typer.Exit(lint_command.rules(as_json))
    options = lint_command.options_of(client, broker, broker_properties, setting, target)
    raise typer.Exit(lint_command.lint(files or [], options, strict, "json" if as_json else format_))


@app.command("schema")
@guarded
def schema(
    identity: Annotated[
        str | None, typer.Argument(help="The `$id` of a schema; default: that of scenario files.", metavar="ID")
    ] = None,
    experiment: Annotated[
        bool, typer.Option("--experiment", help="Print the schema of experiment files.", metavar="")
    ] = False,
) -> None:
    """Print the JSON Schema of scenario files or of experiment files, for editors.

    Examples:

    - `groupsim schema > scenario.schema.json`
    - `groupsim schema --experiment > experiment.schema.json`
    - `groupsim schema urn:groupsim:schema:scenario`
    """
    from groupsim.cli.commands import validate as validate_command

    raise typer.Exit(validate_command.schema(experiment, identity))


@app.command("assign")
@guarded
def assign(
    file: Annotated[str, typer.Argument(help="JSON or JSON Lines; `-` reads standard input.", metavar="FILE|-")],
    assignor: Annotated[
        str | None,
        typer.Option(
            "--assignor",
            help="range, roundrobin, sticky, cooperative-sticky or module:Class; of the coordinator (KIP-848): "
            "uniform, server-range; default: the document's.",
            metavar="NAME",
        ),
    ] = None,
    explain: ExplainSome = False,
    explain_all: ExplainAll = False,
    as_json: AsJson = False,
    traceback: Traceback = False,
) -> None:
    """Run one assignor on a document of members and topics, and print the assignment.

    Examples:

    - `groupsim assign --assignor sticky group.json`
    - `groupsim assign --assignor sticky group.json --explain`
    - `groupsim assign --assignor uniform group.json`
    - `cat groups.jsonl | groupsim assign --assignor mine:Fair - --json`
    """
    from groupsim.cli.assign import command as assign_command
    from groupsim.cli.render.assign_steps import Explain

    raise typer.Exit(assign_command.assign(file, assignor, as_json, Explain.of(explain, explain_all)))


@app.command("sweep")
@guarded
def sweep(
    source: Annotated[
        str,
        typer.Argument(help="An experiment, or with --vary a scenario: a file or a library name.", metavar="FILE|NAME"),
    ],
    out: Annotated[
        str,
        typer.Option("--out", help="Directory of tables and results: a path, s3a://…, gs://…, hdfs://…", metavar="DIR"),
    ],
    engine: engine_options.Engine = "auto",
    master: engine_options.Master = None,
    remote: engine_options.Remote = None,
    conf: engine_options.Conf = None,
    workers: Annotated[int | None, typer.Option("--workers", help="Number of parallel runs.", metavar="N")] = None,
    seeds: Annotated[int | None, typer.Option("--seeds", help="Seeds per cell.", metavar="N")] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option(
            "--set", help="Change a value of the scenario in every cell; VALUE is YAML.", metavar="PATH=VALUE"
        ),
    ] = None,
    vary: Varied = None,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", help="Run only these values of an axis; may be repeated.", metavar="AXIS=LABEL,…"),
    ] = None,
    goal: Goals = None,
    traces: Annotated[bool, typer.Option("--traces", help="Keep the trace of every run.", metavar="")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print the answer only.", metavar="")] = False,
    as_json: AsJson = False,
    traceback: Traceback = False,
) -> None:
    """Run every cell of an experiment's grid with every seed, and recommend a setting.

    Finished runs are kept. The same command continues after an interruption, and with more `--seeds` adds runs.

    Examples:

    - `groupsim sweep rolling-deploy-small --out results/`
    - `groupsim sweep my-service.yaml --vary groups.orders.properties.session.timeout.ms=10s,45s --out results/`
    - `groupsim sweep my-grid.yaml --out results/ --seeds 100 --goal lag_area --goal "false_evictions<=1"`
    - `groupsim sweep rolling-deploy-small --only rollout=Deployment --set timeline.0.max-unavailable=1 --out ours/`
    - `groupsim sweep my-grid.yaml --out results/ --master spark://head:7077`
    - `groupsim sweep my-grid.yaml --out s3a://bucket/results --remote sc://spark.example:15002 --traces`
    """
    from groupsim.cli.commands import sweep as sweep_command

    options = engine_options.of(engine, master, remote, workers, conf)
    raise typer.Exit(
        sweep_command.sweep(
            source, out, options, (vary or [], setting or [], only or [], goal or []), seeds, traces, quiet, as_json
        )
    )


@app.command("report")
@guarded
def report_(
    directory: Annotated[str, typer.Argument(help="Output directory of `groupsim sweep`.", metavar="DIR")],
    engine: engine_options.Engine = "auto",
    master: engine_options.Master = None,
    remote: engine_options.Remote = None,
    conf: engine_options.Conf = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="File to write; default: DIR/report.html.", metavar="FILE.html")
    ] = None,
    open_: Annotated[bool, typer.Option("--open", help="Open the page in the browser.", metavar="")] = False,
    traceback: Traceback = False,
) -> None:
    """Write the HTML page of a sweep: the answer, the grid, plots, and the lanes of single runs.

    The page is one file without external resources. It opens without a network.

    Examples:

    - `groupsim report results/`
    - `groupsim report results/ --out rollout.html --open`
    """
    from groupsim.cli.commands import report

    options = engine_options.of(engine, master, remote, None, conf)
    raise typer.Exit(report.report(directory, out, open_, options))


@app.command("answer")
@guarded
def answer(
    directory: Annotated[str, typer.Argument(help="Output directory of `groupsim sweep`.", metavar="DIR")],
    engine: engine_options.Engine = "auto",
    master: engine_options.Master = None,
    remote: engine_options.Remote = None,
    conf: engine_options.Conf = None,
    as_json: AsJson = False,
    traceback: Traceback = False,
) -> None:
    """Analyse the finished runs of a sweep, and print the answer.

    Examples:

    - `groupsim answer results/`
    - `groupsim answer results/ --json`
    """
    from groupsim.cli.commands import answer as answer_command

    options = engine_options.of(engine, master, remote, None, conf)
    raise typer.Exit(answer_command.answer(directory, options, as_json))


@app.command("serve")
@guarded
def serve(
    source: serve_options.Served = None,
    port: serve_options.Port = 9092,
    brokers: serve_options.Brokers = None,
    topics: serve_options.Topics = None,
    broker: serve_options.BrokerSettings = None,
    listen: serve_options.Listen = "127.0.0.1",
    advertised_host: serve_options.AdvertisedHost = None,
    control_port: serve_options.ControlPort = None,
    token: serve_options.Token = None,
    api_profile: serve_options.ApiProfile = "4.x",
    data_dir: serve_options.DataDir = None,
    ready_file: serve_options.ReadyFile = None,
    trace: serve_options.TraceFile = None,
    without_members: serve_options.WithoutMembers = False,
    log_json: serve_options.LogJson = False,
    seed: serve_options.FreshSeed = None,
    setting: Settings = None,
    traceback: Traceback = False,
) -> None:
    """Serve a cluster to real Kafka clients in real time, with faults on demand.

    A scenario's members, traffic and timeline run beside the real clients. Ctrl-C stops the cluster.

    Examples:

    - `groupsim serve --topic orders:6`
    - `groupsim serve demo --port 0 --ready-file ready.json`
    - `curl --json '{"fault": "break", "member": "all"}' http://127.0.0.1:9080/faults`
    """
    from groupsim.cli.commands import serve as serve_command

    options = serve_command.ServeOptions(
        source=source,
        port=port,
        control_port=serve_options.control_port(control_port, port),
        brokers=brokers,
        listen=listen,
        advertised_host=advertised_host,
        api_profile=api_profile,
        data_dir=data_dir,
        ready_file=ready_file,
        seed=seed,
        trace=trace,
        topics=topics or [],
        broker=broker or [],
        settings=setting or [],
        members=not without_members,
        token=token,
        log_json=log_json,
    )
    raise typer.Exit(serve_command.serve(options))


app_looking.register(app)
app_tables.register(app)


def main() -> None:
    """Run the command line, and report an error of standard output in the exit code."""
    make_printable()
    outlive_readers()
    try:
        app()
    except SystemExit as end:
        failure = failure_of_output()
        if failure is None:
            raise
        from groupsim.cli.error_report import explain

        complain(*explain(failure)[:2])
        raise SystemExit(end.code or BAD_INPUT) from None


if __name__ == "__main__":
    main()
