"""`groupsim answer DIR`: analyse what a sweep has finished, and print the answer."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from groupsim import answer_shown, as_json
from groupsim.exits import RUN_FAILED, WELL, Trouble
from groupsim.terminal import Terminal

ENGINES = ("plain", "spark", "auto")


def nothing_finished(directory: Path) -> Trouble:
    """There is nothing to analyse yet."""
    return Trouble(
        f"{directory}: no run of this sweep has finished yet",
        f"`groupsim sweep … --out {directory}` goes on with it",
    )


def answer(directory: Path, engine: str, wants_json: bool) -> int:
    """Analyse the directory anew, so that the answer knows the newest runs; returns the exit code.

    Raises Trouble and SweepError.
    """
    if engine not in ENGINES:
        raise Trouble(f"--engine {engine}: no such engine", f"one of {', '.join(ENGINES)}")
    if find_spec("pyarrow") is None:
        raise Trouble("an analysis needs pyarrow", 'pip install "groupsim[parquet]"')
    from groupsim.pipeline.analysis import analyse
    from groupsim.pipeline.analysis.answer import NO_DATA
    from groupsim.pipeline.sweep.directory import Directory

    swept = Directory.open(directory)
    if not swept.finished:
        raise nothing_finished(directory)
    found = analyse(swept, engine)
    if wants_json:
        print(as_json.text(answer_shown.document(found)))
    else:
        answer_shown.show(found, Terminal())
    return RUN_FAILED if found.decision == NO_DATA else WELL
