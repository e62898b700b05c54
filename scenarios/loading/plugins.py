"""Make the user's own code importable: assignors as `module:Class`, in a file beside the scenario."""

from __future__ import annotations

import sys
from pathlib import Path


def import_from(folder: Path) -> None:
    """Let `module:Class` in a scenario name a file in its folder, whatever the current folder is."""
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
