"""The content of a sweep's directory, as the file `experiment.json`, and whether a sweep may continue in it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import attrs

from groupsim.pipeline import experiment as experiments
from groupsim.pipeline.sweep.errors import SweepError
from groupsim.pipeline.tables.schemas import TABLES_VERSION
from groupsim.scenarios.language.problems import ScenarioError
from groupsim.scenarios.loading import canonical

if TYPE_CHECKING:
    from groupsim.pipeline.experiment import Experiment
    from groupsim.pipeline.sweep.place import Place

EXPERIMENT = "experiment.json"
LAYOUT = 2  # of the directory: 2 has manifests


@attrs.frozen
class Contents:
    """The content of a directory: the experiment, and the other inputs of its rows."""

    experiment: Experiment
    code: str
    traces: bool = False

    def text(self) -> str:
        """As the file `experiment.json`."""
        facts = {"layout": LAYOUT, "tables": TABLES_VERSION, "code": self.code, "traces": self.traces}
        return f'{json.dumps(facts)[:-1]}, "experiment":\n{experiments.to_json(self.experiment).rstrip()}}}\n'

    @classmethod
    def of(cls, text: str) -> Contents:
        """From the file. Raises ScenarioError, ValueError or LookupError for a file that is none."""
        document = canonical.parse(text)
        if document.get("layout", 1) != LAYOUT:
            raise ValueError(f"layout {document.get('layout', 1)} of the directory, this is layout {LAYOUT}")
        if document["tables"] != TABLES_VERSION:
            raise ValueError(f"version {document['tables']} of the tables, this is version {TABLES_VERSION}")
        experiment = experiments.from_json(canonical.dump(document["experiment"]))
        return cls(experiment, document["code"], document["traces"])

    @classmethod
    def read(cls, place: Place, data: bytes) -> Contents:
        """From the bytes of a place's file. Raises SweepError for a file that is none."""
        try:
            return cls.of(data.decode())
        except (ScenarioError, ValueError, LookupError, TypeError) as error:
            raise SweepError(
                f"{place / EXPERIMENT}: cannot be read: {error}",
                "sweep into a new directory; if another version of groupsim wrote this one, that version reads it",
                bad_input=True,
            ) from error


def check_same(place: Place, present: Contents, wanted: Contents) -> None:
    """Rows of both must fit into one table: the same cells, the same code. Title, goals and seeds may change."""
    if present.experiment.digest != wanted.experiment.digest:
        raise SweepError(
            f"{place.url}: holds another experiment ({present.experiment.title!r}): {_difference(present, wanted)}",
            "name another directory with --out, or remove this one",
            bad_input=True,
        )
    if present.code != wanted.code:
        raise SweepError(
            f"{place.url}: was begun with other code (hash {present.code[:12]}, now {wanted.code[:12]})",
            "go on with the version of groupsim and of the assignors that began it, or sweep into another directory",
            bad_input=True,
        )
    if present.traces != wanted.traces:
        began, remedy = ("with", "add --traces") if present.traces else ("without", "leave --traces out")
        raise SweepError(
            f"{place.url}: was begun {began} full traces", f"{remedy}, or sweep into another directory", bad_input=True
        )


def _difference(present: Contents, wanted: Contents) -> str:
    there, here = present.experiment.cells, wanted.experiment.cells
    if len(there) != len(here):
        return f"{len(there)} cells there, {len(here)} here"
    for theirs, ours in zip(there, here, strict=True):
        if (theirs.title, theirs.digest) != (ours.title, ours.digest):
            return f"cell {ours.number} ({ours.title}) is not the same"
    return "its axes have other names"
