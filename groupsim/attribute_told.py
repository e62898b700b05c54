"""What an object of this package has, told to who asked it for something else.

Fields of answers, snapshots and events have Kafka's names, which differ from one to the next (`error`, `results`,
`offsets`): a test author guesses.
"""

from __future__ import annotations

from groupsim.scenarios.problems import nearest

SHOWN = 30
FEW = 4


def what_it_has(error: AttributeError) -> str | None:
    """A remedy for an attribute that an object or a class of this package does not have; None for others."""
    owner = error.obj if isinstance(error.obj, type) else type(error.obj)
    if not error.name or owner.__module__.split(".")[0] != "groupsim":
        return None
    names = [name for name in dir(error.obj) if not name.startswith("_")]
    near = _near(error.name, names)
    if near:
        return f"did you mean {' or '.join(f'`{name}`' for name in near)}?"
    return f"{owner.__name__} has: {', '.join(names[:SHOWN])}{', …' if len(names) > SHOWN else ''}"


def _near(asked: str, names: list[str]) -> list[str]:
    """Names that go on where the one asked for ends (`from_`, FENCED_INSTANCE_ID), a few at most; else the nearest."""
    longer = [name for name in names if name.startswith(f"{asked}_")]
    if 0 < len(longer) <= FEW:
        return longer
    near = nearest(asked, names)
    return [] if near is None else [near]
