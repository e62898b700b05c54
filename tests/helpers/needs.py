"""What some tests need from the machine. Where it is missing they are skipped; in CI that is a failure.

`GROUPSIM_MUST_RUN="chromium java"` names what must be there, so that a skip cannot hide for ever.
"""

from __future__ import annotations

import os
import shutil
from typing import NoReturn

import pytest

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")


def chromium() -> str:
    """The path of a Chromium, or the test is skipped (in CI: fails) with the reason."""
    found = next((path for name in CHROMIUM if (path := shutil.which(name))), None)
    return found or missing("chromium", "chromium is not installed (apt-get install chromium)")


def missing(what: str, reason: str) -> NoReturn:
    """Skip the test, or fail it where `what` must be there."""
    if what in os.environ.get("GROUPSIM_MUST_RUN", "").split():
        pytest.fail(f"{reason}, and GROUPSIM_MUST_RUN names {what}")
    pytest.skip(reason)
