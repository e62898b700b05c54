"""Scenarios: files that say what happens to a consumer group, and the machinery that runs and judges them.

A file goes through `load` (YAML with positions, shape, sense) and becomes a `model.Scenario`; `runner` wires loop,
cluster and members (`stage`), plays the timeline (`actions`, `faults`) and judges the trace (`expectations`). The names
in a file are the names in the registries (`steps`), so loader, JSON Schema (`schema`), documentation and executor
cannot disagree. `library/` holds the scenarios that come with groupsim, `catalogue` finds them, `story/` tells what
happened.
"""
