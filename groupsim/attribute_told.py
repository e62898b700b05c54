"""What an object of this package has, and what its calls take, told to who asked for something else.

Fields of requests, answers, snapshots and events have Kafka's names, which differ from one to the next (`error`,
`results`, `offsets`): a test author guesses.
"""

from __future__ import annotations

import inspect
import re

from groupsim.scenarios.problems import nearest

SHOWN = 30
FEW = 4
_NO_ARGUMENT = re.compile(r"^(\w+)\.(\w+)\(\) got an unexpected keyword argument '(\w+)'")


def what_there_is(error: BaseException) -> str | None:
    """A remedy for an attribute or an argument that this package does not have; None for other errors."""
    if isinstance(error, AttributeError):
        return what_it_has(error)
    return what_it_takes(error) if isinstance(error, TypeError) else None


def what_it_has(error: AttributeError) -> str | None:
    """A remedy for an attribute that an object or a class of this package does not have; None for others."""
    owner = error.obj if isinstance(error.obj, type) else type(error.obj)
    if not error.name or owner.__module__.split(".")[0] != "groupsim":
        return None
    names = [name for name in dir(error.obj) if not name.startswith("_")]
    return _suggested(error.name, names, f"{owner.__name__} has")


def what_it_takes(error: TypeError) -> str | None:
    """A remedy for a keyword argument that a method, or a class, of this package does not take; None for others."""
    found = _NO_ARGUMENT.match(str(error))
    cls = None if found is None else _class_in_sight(error, found[1])
    if found is None or cls is None:
        return None
    method = getattr(cls, found[2], None)
    names = [name for name in inspect.signature(method).parameters if name != "self"] if callable(method) else []
    call = found[1] if found[2] == "__init__" else f"{found[1]}.{found[2]}"
    return _suggested(found[3], names, f"{call} takes")


def _class_in_sight(error: TypeError, name: str) -> type | None:
    """The class of this package that the failed call was about: known where it was made by itself or by an object."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    frame = traceback.tb_frame if traceback is not None else None
    for value in [*frame.f_locals.values(), *frame.f_globals.values()] if frame is not None else []:
        cls = value if isinstance(value, type) else type(value)
        if cls.__name__ == name and str(cls.__module__).split(".")[0] == "groupsim":
            return cls
    return None


def _suggested(asked: str, names: list[str], what: str) -> str:
    near = _near(asked, names)
    if near:
        return f"did you mean {' or '.join(f'`{name}`' for name in near)}?"
    return f"{what}: {', '.join(names[:SHOWN])}{', …' if len(names) > SHOWN else ''}"


def _near(asked: str, names: list[str]) -> list[str]:
    """Names that go on where the one asked for ends (`from_`, FENCED_INSTANCE_ID), a few at most; else the nearest."""
    longer = [name for name in names if name.startswith(f"{asked}_")]
    if 0 < len(longer) <= FEW:
        return longer
    near = nearest(asked, names)
    return [] if near is None else [near]
