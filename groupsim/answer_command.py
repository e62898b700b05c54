"""`groupsim answer DIR`: analyse what a sweep has finished, and print the answer."""

from __future__ import annotations

from pathlib import Path

from groupsim import answer_shown, as_json
from groupsim.exits import WELL
from groupsim.pipeline.analysis import analyse
from groupsim.pipeline.sweep.directory import Directory
from groupsim.terminal import Terminal


def answer(directory: Path, engine: str, wants_json: bool) -> int:
    """Analyse the directory anew, so that the answer knows the newest runs; returns the exit code."""
    found = analyse(Directory.open(directory), engine)
    if wants_json:
        print(as_json.text(answer_shown.document(found)))
    else:
        answer_shown.show(found, Terminal())
    return WELL
