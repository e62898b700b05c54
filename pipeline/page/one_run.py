"""The page of one run, made of the rows of its tables only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from groupsim.pipeline.page.assembly import Head, assemble, small_plots
from groupsim.pipeline.page.compact import pack
from groupsim.pipeline.tables.schemas import MEMBERS, RUNS
from groupsim.scenarios.runtime.runner import Judged
from groupsim.scenarios.story.causes import MEANING
from groupsim.scenarios.story.words import processes, span

# A heading and its facts: (name, value), or sentences without a name.
Assumed = Sequence[tuple[str, Sequence[tuple[str, str]]]]


def run_page(
    rows: Mapping[str, Sequence[tuple[Any, ...]]],
    title: str,
    *,
    checks: Iterable[Judged] = (),
    assumed: Assumed = (),
    lag: Mapping[str, Sequence[tuple[int, int]]] | None = None,
) -> str:
    """The page of one run as HTML.

    `rows` are its rows in every table (`tables/schemas.py`), of which `runs` must have one; `title` says what was
    run; `checks` are the scenario's expectations, judged; `assumed` what was assumed (`assumed.py`); `lag` how
    far each group was behind at instants (`lag_line.py`).
    """
    run = dict(zip(RUNS.names, rows["runs"][0], strict=False))
    sentence = run["headline"] or f"The run failed: {run['error']}"
    head = Head("groupsim: one run", sentence, subtitle(run, rows, title), title)
    data = {
        "kind": "run",
        "run": pack(rows),
        "checks": [verdict(one) for one in checks],
        "assumed": assumed,
        "causes": causes(),
        "lag": lag or {},
    }
    return assemble(head, data, library=small_plots())


def subtitle(run: Mapping[str, Any], rows: Mapping[str, Sequence[tuple[Any, ...]]], title: str) -> str:
    """Return a line of facts: the scenario, the seed, the length, the counts, and the command that repeats the run."""
    profile = MEMBERS.names.index("profile")
    parts = [title, f"seed {run['seed']}", f"{span(run['virtual_us'])} of virtual time" if run["virtual_us"] else ""]
    parts += [processes(row[profile] for row in rows.get("members", ())), run["repeat"] or ""]
    return " · ".join(part for part in parts if part)


def verdict(one: Judged) -> dict[str, Any]:
    """Return an expectation and its result as data."""
    return {
        "holds": one.holds,
        "expected": one.finding.expected,
        "found": one.finding.found,
        "t_us": one.finding.t_us,
        "because": one.expectation.because,
    }


def causes() -> dict[str, str]:
    """Every cause with the sentence that explains it."""
    return {cause.value: meaning for cause, meaning in MEANING.items()}
