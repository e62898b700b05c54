"""A regression test holds, and fails as soon as its historical bug is put back: else it is no test of that bug.

`@caught(defect)` runs a test twice. The second time `defect(monkeypatch)` has broken one function of the coordinator,
a client or an assignor in the way the bug did, and the test must fail with an AssertionError (or what
`by` names).
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from groupsim.members.profiles.defects import with_defects
from groupsim.members.zookeeper import kinds

Defect = Callable[[pytest.MonkeyPatch], None]


def caught(
    *defects: Defect, by: type[Exception] | tuple[type[Exception], ...] = AssertionError
) -> pytest.MarkDecorator:
    """Marks a test that holds without these defects, and fails with each of them."""
    fails = pytest.mark.xfail(strict=True, raises=by)
    params = [pytest.param(defect, id=f"with-{defect.__name__}", marks=fails) for defect in defects]
    return pytest.mark.parametrize("mutant", [pytest.param(None, id="holds"), *params], indirect=True)


def release_defect(patch: pytest.MonkeyPatch, name: str, client: str = "java") -> None:
    """Give a client, by default the one that tests use when they name none, a defect that releases had."""
    patch.setitem(kinds.CLIENTS, client, with_defects(kinds.CLIENTS[client], (name,)))  # type: ignore[attr-defined]
