"""`groupsim assign`: one assignor on one or several documents, without a simulation."""

from __future__ import annotations

import json

from groupsim.cli.assign.results import render_table, run_file
from groupsim.cli.exits import SUCCESS
from groupsim.cli.progress.slow_assignors import slow_assignors_named
from groupsim.cli.render.assign_steps import Explain, render_steps
from groupsim.cli.terminal import Terminal, width_of


def assign(file: str, assignor: str | None, wants_json: bool, explain: Explain) -> int:
    """Print the assignment of every document, with `--json` a line for each; return the exit code."""
    with slow_assignors_named():
        results = run_file(file, assignor, explain is not Explain.NO)
    console = Terminal()
    for result in results:
        if wants_json:
            print(json.dumps(result, ensure_ascii=False))
        else:
            if explain is not Explain.NO:
                console.print(render_steps(result, explain))
            console.print(render_table(result, width_of(console)), soft_wrap=True)
    return SUCCESS
