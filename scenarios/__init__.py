"""Scenarios: files that say what happens to a consumer group, and the machinery that runs and judges them.

Where to read:

    language       the text with positions, values and names; `Scenario`, the model they make; the registry of steps
    loading        YAML into the model; the JSON Schema; the names of the scenes that ship
    validation     whether what a file says makes sense
    plans          from the model to clusters, members and producers
    steps          actions and faults, as classes with the keys of the file
    runtime        one run: loop, cluster, processes, the timeline
    expectations   what a file expects of its run, judged on the trace
    invariants     what holds at every instant of a run, checked while it goes
    story          what happened in a run, from its trace alone
    pictures       a run as SVG
    lint           rules about configurations, without a run
    drafting       a scenario drafted from manifests and from a consumer's configuration
    library        the scenes that ship

A name in a file is a name in the registry (`scenarios/language/registry.py`), so loader, JSON Schema, documentation and
runner cannot disagree.
"""
