"""The rows of docs/fidelity/ for suites that are run as modules: tools/ is not on their path."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

import fidelity
import fidelity_pages
from fidelity import Page as Page
from fidelity import Row as Row
from fidelity import Section as Section
from fidelity import expand as expand
from fidelity import pages as pages
from fidelity import rows as rows


def write(found: Sequence[Page]) -> None:
    """Write the rows and the pages that are made of them."""
    fidelity.write(found)
    fidelity_pages.main()
