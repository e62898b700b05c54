"""What every test relies on: no deadline for single examples, and nothing left of modules that a test wrote."""

from __future__ import annotations

import gc
import signal
import sys
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

import pytest
from hypothesis import settings

# A busy machine is no defect: an example that takes 7 ms was seen to take 270.
settings.register_profile("groupsim", deadline=None)
settings.load_profile("groupsim")


@pytest.fixture(autouse=True)
def _forget_written_modules(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A test may write `mine.py` and name it in a scenario; the next test writes another `mine.py`."""
    sys.path[:] = [
        entry for entry in sys.path if "userFiles-" not in entry or Path(entry).exists()
    ]  # of a Spark that ended
    written = str(tmp_path_factory.getbasetemp())
    path, last = list(sys.path), next(reversed(sys.modules))
    yield
    sys.path[:] = [entry for entry in sys.path if entry in path or not entry.startswith(written)]
    for name in list(takewhile(lambda one: one != last, reversed(sys.modules))):  # those that came in between
        if (getattr(sys.modules[name], "__file__", None) or "").startswith(written):
            del sys.modules[name]


def pytest_collection_finish() -> None:
    """Modules and collected tests stay: the collector need not walk through them, nor look after every 700 objects."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def pytest_configure() -> None:
    """A run that was started in the background ignores SIGINT, and so would its children: tests of ctrl-C need it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
