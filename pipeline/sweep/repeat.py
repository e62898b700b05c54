"""The command that repeats one run of a sweep, alone and with its whole story."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Any

from groupsim.scenarios.loading import canonical

if TYPE_CHECKING:
    from groupsim.pipeline.experiment import Cell, Experiment

_PLAIN = re.compile(r"\d+[a-z]+|(?!(?:true|false|null|yes|no|on|off)$)[A-Za-z][\w.-]*", re.IGNORECASE)


def repeat_command(experiment: Experiment, cell: Cell) -> str:
    """`groupsim run` on the experiment with the settings of a cell; the seed has to be added."""
    every = (*experiment.command_line.items(), *cell.settings.items())
    settings = [part for path, value in every for part in ("--set", f"{path}={_yaml(value)}")]
    return shlex.join(["groupsim", "run", source(experiment), *settings])


def source(experiment: Experiment) -> str:
    """What to call the experiment on a command line: its file, or its name in the library."""
    from groupsim.pipeline.experiment.catalogue import find, names

    known = experiment.name in names() and str(find(experiment.name)) == experiment.file
    return experiment.name if known or not experiment.file else experiment.file


def _yaml(value: Any) -> str:
    return value if isinstance(value, str) and _PLAIN.fullmatch(value) else canonical.dump(value)
