"""Makes the tables' kit importable as `tables_kit`: with importmode=importlib this folder is not on the path."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

if "tables_kit" not in sys.modules:
    _spec = importlib.util.spec_from_file_location("tables_kit", Path(__file__).with_name("kit.py"))
    assert _spec is not None
    assert _spec.loader is not None
    _module = importlib.util.module_from_spec(_spec)
    sys.modules["tables_kit"] = _module
    _spec.loader.exec_module(_module)
