"""The user's own code that a scenario names: assignors as `module:Class`, found beside the scenario."""

from __future__ import annotations

import sys
from pathlib import Path


def import_from(folder: Path) -> None:
    """Let `module:Class` in a scenario name a file beside it, wherever the command is called."""
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
