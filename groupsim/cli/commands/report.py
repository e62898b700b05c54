"""`groupsim report` and `groupsim run … --report`: HTML pages that open without a network."""

from __future__ import annotations

import webbrowser
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from groupsim.cli.commands.answer import nothing_finished
from groupsim.cli.commands.sweep import check_engine
from groupsim.cli.exits import SUCCESS, Trouble
from groupsim.cli.sources import check_parent
from groupsim.cli.streams import write_whole
from groupsim.cli.terminal import Terminal
from groupsim.scenarios.runtime.runner import Run
from groupsim.scenarios.story import Story

if TYPE_CHECKING:
    from groupsim.pipeline.analysis import Answer
    from groupsim.pipeline.sweep import Directory, EngineOptions

PAGES = (".html", ".htm")
INSTALL = 'pip install "groupsim[report]"'


def report(source: str, out: Path | None, open_it: bool, options: EngineOptions) -> int:
    """Write the page of a sweep's directory; print the answer and the path of the page. Return the exit code.

    Raises Trouble for a directory without finished runs, an unwritable page and missing packages, and SweepError for a
    directory that is not a sweep's.
    """
    check_page(out)
    _need("plotly")
    _need("pyarrow")
    from groupsim.pipeline.page import sweep_page
    from groupsim.pipeline.sweep import Directory
    from groupsim.pipeline.sweep.directory import REPORT

    check_engine(options)
    directory = Directory.open(source, options.conf)
    if not directory.finished:
        raise nothing_finished(source)
    answer = _answer(directory, options)
    page = sweep_page(directory, answer)
    if out is None and directory.place.local is None:
        directory.place.write(REPORT, page.encode())
        target: Path | str = directory.place / REPORT
    else:
        target = directory.report if out is None else out
        _write(page, Path(target))
    Terminal(soft_wrap=True).print(Text(answer.sentence, "bold"))
    tell_page(target)
    if open_it:
        webbrowser.open(target.resolve().as_uri() if isinstance(target, Path) else target)
    return SUCCESS


def _answer(directory: Directory, options: EngineOptions) -> Answer:
    """Return the stored answer, or a new one if runs or goals have changed since."""
    from groupsim.pipeline.analysis import analyse, read_answer
    from groupsim.pipeline.analysis.results import ANSWER

    made = directory.place.modified_ns(ANSWER)
    try:
        if made is not None and made > directory.changed_ns:
            return read_answer(directory.place)
    except ValueError:
        pass  # the answer of another version
    with Console(stderr=True).status("analysing"):
        return analyse(directory, options)


def write_run(done: Run, story: Story, command: str, path: Path) -> None:
    """Write the page of one run; `command` repeats the run. Raises Trouble if the page cannot be written."""
    from groupsim.pipeline.page import assumed, lag_lines, run_page
    from groupsim.pipeline.runs import Label, Lists, rows_of

    scenario = done.scenario
    label = Label(seed=done.seed, repeat=command)
    rows = rows_of(Lists(done.events), story, label, expectations_failed=len(done.failed))
    title, lag = scenario.title or scenario.name, lag_lines(done.events, story)
    _write(run_page(rows, title, checks=done.checks, assumed=assumed(scenario), lag=lag), path)


def check_page(path: Path | None) -> None:
    """Check before the run that the page can be written. Raises Trouble."""
    if path is not None:
        if path.is_dir():
            raise Trouble(f"{path} is a directory", f"write {path / 'report.html'}")
        if path.suffix not in PAGES:
            raise Trouble(f"{path}: a page ends in .html", f"write {path.with_suffix('.html')}")
        check_parent(path)


def tell_page(path: Path | str) -> None:
    """Print the path of the page."""
    Terminal(stderr=True, soft_wrap=True).print(Text(f"page: {path}", "dim"))


def _need(package: str) -> None:
    if find_spec(package) is None:
        raise Trouble(f"a page needs {package}, which is not installed", INSTALL)


def _write(page: str, path: Path) -> None:
    try:
        write_whole(page, path)
    except OSError as error:
        raise Trouble(f"{path}: {error.strerror or error}", "name another file with --out or --report") from None
