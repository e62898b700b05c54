"""`groupsim answer DIR`: analyse the finished runs of a sweep, and print the answer."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from rich.text import Text

from groupsim.cli import as_json
from groupsim.cli.commands.sweep import check_engine
from groupsim.cli.exits import RUN_FAILED, SUCCESS, Trouble
from groupsim.cli.render import answer as answer_shown
from groupsim.cli.terminal import Terminal

if TYPE_CHECKING:
    from groupsim.pipeline.sweep import EngineOptions


def nothing_finished(directory: str) -> Trouble:
    """Return the error for a sweep without a finished run."""
    return Trouble(
        f"{directory}: no run of this sweep has finished yet",
        f"`groupsim sweep … --out {directory}` continues it",
    )


def answer(directory: str, options: EngineOptions, wants_json: bool) -> int:
    """Analyse all finished runs again, and print the answer; return the exit code.

    Raises Trouble and SweepError.
    """
    if find_spec("pyarrow") is None:
        raise Trouble("an analysis needs pyarrow", 'pip install "groupsim[parquet]"')
    check_engine(options)
    from groupsim.pipeline.analysis import analyse
    from groupsim.pipeline.analysis.answer import NO_DATA
    from groupsim.pipeline.sweep.directory import Directory

    swept = Directory.open(directory, options.conf)
    if not swept.finished:
        raise nothing_finished(directory)
    stderr = Terminal(stderr=True, soft_wrap=True)
    found = analyse(swept, options, note=lambda sentence: stderr.print(Text(sentence, "dim")))
    if wants_json:
        print(as_json.text(answer_shown.document(found)))
    else:
        answer_shown.show(found, Terminal())
    return RUN_FAILED if found.decision == NO_DATA else SUCCESS
