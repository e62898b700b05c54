"""The helper `acl_stage` is a module beside these tests, `replicated_stage` one folder up."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path += [str(Path(__file__).parent), str(Path(__file__).parents[1])]
