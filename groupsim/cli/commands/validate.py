"""`groupsim validate` and `groupsim schema`."""

from __future__ import annotations

from typing import Any

from rich.text import Text

from groupsim.cli import as_json
from groupsim.cli.exits import BAD_INPUT, SUCCESS, Trouble
from groupsim.cli.scenario_source import find
from groupsim.cli.terminal import Terminal
from groupsim.pipeline.experiment import catalogue as experiments
from groupsim.pipeline.experiment.load import experiment_of
from groupsim.pipeline.experiment.schema import SCHEMA_ID as EXPERIMENT_ID
from groupsim.pipeline.experiment.schema import experiment_schema
from groupsim.scenarios.language.document import name_of, read_document
from groupsim.scenarios.language.problems import ERROR, Problem, ScenarioError, suggest
from groupsim.scenarios.loading.load import scenario_of
from groupsim.scenarios.loading.plugins import import_from
from groupsim.scenarios.loading.schema import SCHEMA_ID as SCENARIO_ID
from groupsim.scenarios.loading.schema import scenario_schema


def validate(files: list[str], wants_json: bool) -> int:
    """Check every file; return 0, or 2 if one has an error."""
    findings = {file: _problems(file) for file in files}
    bad = [file for file, problems in findings.items() if any(problem.severity == ERROR for problem in problems)]
    code = BAD_INPUT if bad else SUCCESS
    if wants_json:
        checked = [_document(file, problems) for file, problems in findings.items()]
        print(as_json.text({"schema": as_json.SINCE_SEVERITY, "files": checked, "exit_code": code}))
        return code
    console = Terminal(soft_wrap=True)
    for file, problems in findings.items():
        for problem in problems:
            console.print(Text(str(problem), "red" if problem.severity == ERROR else "yellow"))
        if file not in bad:
            console.print(Text(f"{file}: ok", "green"))
    return code


def _problems(file: str) -> tuple[Problem, ...]:
    try:
        path = find(file)
        document = read_document(path)
        import_from(path.resolve().parent)
        if experiments.is_experiment(document):
            return experiment_of(document, name_of(path)).warnings
        return tuple(scenario_of(document, name_of(path)).notes)
    except ScenarioError as error:
        return error.problems


def _document(file: str, problems: tuple[Problem, ...]) -> dict[str, Any]:
    well = not any(problem.severity == ERROR for problem in problems)
    return {"file": file, "well": well, "problems": as_json.plain(problems)}


#: The schemas by `$id`.
SCHEMAS = {SCENARIO_ID: scenario_schema, EXPERIMENT_ID: experiment_schema}


def schema(of_experiments: bool = False, identity: str | None = None) -> int:
    """Print the JSON Schema of scenario files, of experiment files, or the one with this `$id`."""
    wanted = identity or (EXPERIMENT_ID if of_experiments else SCENARIO_ID)
    if wanted not in SCHEMAS:
        raise Trouble(f"no schema has the id {wanted}", suggest(wanted, SCHEMAS, "ids"))
    print(as_json.text(SCHEMAS[wanted]()))
    return SUCCESS
