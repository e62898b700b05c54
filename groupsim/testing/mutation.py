"""Restore historical bugs: for the runs in a block, or for further runs of a test, which have to fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from difflib import get_close_matches
from typing import Any, TypeVar

from groupsim.testing import mutants
from groupsim.testing.patcher import Mutant, Patches

Test = TypeVar("Test", bound=Callable[..., Any])

#: The fixture of the pytest plugin that applies the mutant of `caught`.
FIXTURE = "groupsim_mutant"


def find_mutant(name: str) -> Mutant:
    """Return the mutant of a name or an issue. Raises ValueError with the nearest name for an unknown one."""
    named, known = mutants.by_name(), mutants.by_issue()
    found = named.get(name) or known.get(name)
    if found is None:
        near = get_close_matches(name, [*named, *known], 1)
        hint = f"did you mean {near[0]!r}?" if near else "docs/regressions.md lists them"
        raise ValueError(f"no mutant or issue {name!r}; {hint}")
    return found


@contextmanager
def mutant(*bugs: str | Mutant) -> Iterator[None]:
    """Restore historical bugs for the runs in this block: `with mutant("KAFKA-12890"): …`.

    Each is an issue, the name of a function of `groupsim.testing.mutants`, or such a function. They change classes and
    modules of this process, so that simulations of other threads have them too. Raises ValueError for an unknown name.
    """
    with ExitStack() as undo:
        for restore in [find_mutant(bug) if isinstance(bug, str) else bug for bug in bugs]:
            restore(Patches(undo))
        yield


def caught(
    *bugs: str | Mutant, by: type[BaseException] | tuple[type[BaseException], ...] = AssertionError
) -> Callable[[Test], Test]:
    """Run a pytest test as it is, and once more with each of these bugs restored, when it has to fail.

    Bugs are those of `mutant`; `by` is the exception that the test has to raise. A test that passes with a bug is
    reported as failed, since it does not catch the bug. Runs are named `test[holds]` and `test[with-NAME]`. Raises
    ValueError for an unknown name.
    """
    import pytest  # not required by the package: its callers have it

    fails = pytest.mark.xfail(strict=True, raises=by)
    found = [find_mutant(bug) if isinstance(bug, str) else bug for bug in bugs]
    params = [pytest.param(one, id=f"with-{one.__name__}", marks=fails) for one in found]
    runs = pytest.mark.parametrize(FIXTURE, [pytest.param(None, id="holds"), *params], indirect=True)
    return lambda test: pytest.mark.usefixtures(FIXTURE)(runs(test))
