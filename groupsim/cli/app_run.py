"""The command `groupsim run`. Thin: it parses, calls, prints."""

from __future__ import annotations

import typer

from groupsim.cli.guard import guarded
from groupsim.cli.options import run as options
from groupsim.cli.options.common import AsJson, Seed, Settings, Source, Traceback


@guarded
def run(
    source: Source,
    seed: Seed = 0,
    setting: Settings = None,
    seeds: options.Seeds = None,
    trace: options.TraceFile = None,
    logs: options.Logs = None,
    report: options.Report = None,
    data_dir: options.DataDir = None,
    fetches: options.Fetches = False,
    owners: options.Owners = False,
    checks: options.Checks = False,
    rebalance: options.Rebalance = None,
    group: options.Group = None,
    every: options.Every = False,
    mermaid: options.Mermaid = False,
    as_json: AsJson = False,
    traceback: Traceback = False,
) -> None:
    """Run a scenario and tell what happened: headline, timeline, expectations.

    Up to three members fit on a screen of 50 lines, further members add to it. What is left out is named, with the
    option that shows it.

    Examples:

    - `groupsim run demo`
    - `groupsim run my-rollout.yaml --seed 7 --trace out.jsonl`
    - `groupsim run demo --logs logs/ && grep "Preparing to rebalance" logs/broker-*.log`
    - `groupsim run my-rollout.yaml --seeds 20`
    - `groupsim run demo --report demo.html`
    - `groupsim run three-ages-today --owners`
    - `groupsim run brokers-roll-forty-groups --group fleet-7`
    - `groupsim run brokers-roll-forty-groups --seeds 3 --all`
    - `groupsim run deploy-jvm-S-cooperative --all`
    - `groupsim run demo --data-dir data/ && groupsim offsets data/`
    - `groupsim run four-scenes --rebalance 2`
    - `groupsim run four-scenes --rebalance 2 --mermaid > rebalance.mmd`
    """
    from groupsim.cli.commands import rebalance as rebalance_command
    from groupsim.cli.commands import run as run_command
    from groupsim.cli.commands import seeds as seeds_command

    files = (trace, logs, report, data_dir)
    shown = {"--fetches": fetches, "--owners": owners, "--checks": checks}
    one = rebalance_command.asked(rebalance, group, every, mermaid, as_json, seeds, shown)
    if seeds is None:
        of_story = run_command.Shown(fetches, owners, checks, every, group)
        raise typer.Exit(run_command.run(source, seed, setting or [], files, as_json, shown=of_story, rebalance=one))
    seeds_command.refuse_of_one_run(source, seed, files, shown)
    of_groups = seeds_command.Shown(group, every)
    raise typer.Exit(seeds_command.run_seeds(source, seed, seeds, setting or [], as_json, of_groups))


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("run")(run)
