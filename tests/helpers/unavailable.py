"""What a test does without a tool or a registry: it skips with the reason, and in CI it may not."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest


def unavailable(why: Exception, *names: str) -> NoReturn:
    """Skip, or fail where GROUPSIM_MUST_RUN has one of the names."""
    named = {*names} & {*os.environ.get("GROUPSIM_MUST_RUN", "").split()}
    if named:
        pytest.fail(f"{why}, and GROUPSIM_MUST_RUN names {min(named)}")
    pytest.skip(str(why))
