"""The command line of `groupsim run`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from groupsim.cli.exits import RUN_FAILED, Trouble
from groupsim.cli.guard import guarded
from groupsim.cli.options import run as options
from groupsim.cli.options.common import AsJson, Seed, Settings, Traceback

if TYPE_CHECKING:
    from groupsim.scenarios.runtime.runner import Run


@guarded
def run(
    sources: options.Sources,
    seed: Seed = 0,
    setting: Settings = None,
    seeds: options.Seeds = None,
    junit: options.Junit = None,
    trace: options.TraceFile = None,
    logs: options.Logs = None,
    report: options.Report = None,
    svg: options.Svg = None,
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
    """Run a scenario and print what happened: headline, timeline, expectations.

    With several scenarios each gets a line, with its failed expectations. The exit code is the highest of theirs.

    A run with up to three members fits on a screen of 50 lines. Each omitted part is named with the option that prints
    it.

    Examples:

    - `groupsim run demo`
    - `groupsim run my-rollout.yaml --seed 7 --trace out.jsonl`
    - `groupsim run demo --logs logs/ && grep "Preparing to rebalance" logs/broker-*.log`
    - `groupsim run scenarios/*.groupsim.yaml --junit results.xml`
    - `groupsim run my-rollout.yaml --seeds 20`
    - `groupsim run demo --report demo.html`
    - `groupsim run demo --svg demo.svg`
    - `groupsim run three-ages-today --owners`
    - `groupsim run brokers-roll-forty-groups --group fleet-7`
    - `groupsim run brokers-roll-forty-groups --seeds 3 --all`
    - `groupsim run deploy-jvm-S-cooperative --all`
    - `groupsim run demo --data-dir data/ && groupsim offsets data/`
    - `groupsim run four-scenes --rebalance 2`
    - `groupsim run four-scenes --rebalance 2 --mermaid > rebalance.mmd`
    - `groupsim run four-scenes --rebalance 2 --svg rebalance.svg`
    """
    from groupsim.cli.ci import run_suites
    from groupsim.cli.commands import rebalance as rebalance_command
    from groupsim.cli.commands import run as run_command
    from groupsim.cli.commands import seeds as seeds_command
    from groupsim.cli.run_files import Files

    files = Files(trace, logs, report, data_dir, svg)
    shown = {"--fetches": fetches, "--owners": owners, "--checks": checks}
    if len(sources) > 1:
        others = {**files.named, **shown, "--seeds": seeds, "--rebalance": rebalance, "--group": group, "--all": every}
        refuse_of_several(others)
        raise typer.Exit(run_suites.run_several(sources, seed, setting or [], junit, as_json))
    source = sources[0]
    run_suites.check_junit(junit)
    one = rebalance_command.asked(rebalance, group, every, mermaid, as_json, seeds, shown)
    if seeds is None:
        of_story = run_command.Shown(fetches, owners, checks, every, group)
        also = partial(_write_suite, junit, source) if junit is not None else None
        try:
            code = run_command.run(
                source, seed, setting or [], files, as_json, shown=of_story, rebalance=one, also=also
            )
        except Trouble as trouble:
            if trouble.code == RUN_FAILED:
                run_suites.write_junit(junit, [run_suites.failed_suite(source, trouble)])
            raise
        raise typer.Exit(code)
    refuse_of_several({"--junit": junit}, "not valid with --seeds, which judges no single run")
    seeds_command.refuse_of_one_run(source, seed, files.named, shown)
    of_groups = seeds_command.ShownGroups(group, every)
    raise typer.Exit(seeds_command.run_seeds(source, seed, seeds, setting or [], as_json, of_groups))


def refuse_of_several(options: Mapping[str, object], why: str = "valid for one scenario only") -> None:
    """Refuse given options that are valid for one run only. Raises Trouble."""
    given = [name for name, value in options.items() if value not in (None, False)]
    if given:
        raise Trouble(f"{', '.join(given)}: {why}", "run the scenarios one by one, or leave the option out")


def _write_suite(path: Path, source: str, done: Run) -> None:
    from groupsim.cli.ci.run_suites import suite_of, write_junit

    write_junit(path, [suite_of(source, done)])


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("run")(run)
