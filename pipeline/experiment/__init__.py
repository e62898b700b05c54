"""Experiments: a scenario, axes, a number of seeds; from a file to the cells of a grid.

A file goes through `load_experiment` (YAML with positions, shape, every path and every cell judged) and becomes an
`Experiment`: cells with labels, settings and one canonical JSON document each. `to_json` and `from_json` are what a
sweep keeps of it. Nothing here runs anything.
"""

from groupsim.pipeline.experiment.catalogue import list_experiments
from groupsim.pipeline.experiment.load import load_experiment
from groupsim.pipeline.experiment.model import Axis, Cell, Experiment, Goal
from groupsim.pipeline.experiment.stored import from_json, to_json

__all__ = ["Axis", "Cell", "Experiment", "Goal", "from_json", "list_experiments", "load_experiment", "to_json"]
