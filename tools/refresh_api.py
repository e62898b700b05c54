"""Write docs/api.md: every public name with its signature and the first sentence of its docstring, by module.

    python tools/refresh_api.py            write the page
    python tools/refresh_api.py --check    compare only; exit 1 when it differs

The names are those that the public modules offer. A class is listed with its own public methods and properties, an
enumeration with its values. A constant's sentence is the comment above it that begins with `#:`.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path
from types import ModuleType
from typing import Any

from kept_page import keep

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "api.md"
MODULES = (
    "groupsim",
    "groupsim.faults",
    "groupsim.requests",
    "groupsim.assignors",
    "groupsim.testing",
    "groupsim.testing.mutants",
)
INTRODUCTION = """# The public API

What scripts and tests may import: these modules, flat. Everything else belongs to groupsim itself and may change.
Arguments have the types that stand here; the package is typed (`py.typed`), and `help(name)` has the whole docstring.
"""
NEXT = "\nNext: [writing a test](writing-a-test.md), and [the command line](cli.md), which offers the same.\n"
MANY = 12  # values of an enumeration, fields of a value: more are counted
LONG = 40  # characters of a default


def public_names(module: ModuleType) -> dict[str, Any]:
    """The names that a module offers, with what they are: its `__all__`, or what it has that is no module."""
    names = getattr(module, "__all__", None) or [name for name in dir(module) if not name.startswith("_")]
    found = {name: getattr(module, name) for name in names}
    return {name: value for name, value in found.items() if not inspect.ismodule(value)}


def sentence(text: str | None) -> str:
    """The first sentence of a docstring, on one line."""
    first = " ".join((text or "").strip().partition("\n\n")[0].split())
    ends = re.search(r"(?<!e\.g)(?<!i\.e)\.(?= [A-Z`(])", first)
    return first[: ends.end()] if ends else first


def described(module: ModuleType, name: str, value: Any) -> str:
    """The sentence about a public name. Empty when nothing is written about it."""
    if inspect.isclass(value) or inspect.isroutine(value):
        return sentence(value.__doc__)
    for source in [module, *(one for key, one in sys.modules.items() if key.startswith("groupsim."))]:
        if vars(source).get(name) is value:
            comment = re.search(rf"((?:^#: .*\n)+)^{name}\b", inspect.getsource(source), re.MULTILINE)
            if comment is not None:
                return sentence(re.sub(r"^#: ?", "", comment[1], flags=re.MULTILINE))
    return ""


def signature(value: Callable[..., Any]) -> str:
    """The arguments of a function or class, with their types; the first one of a method left out."""
    if getattr(value, "_is_protocol", False):
        return ""  # nothing makes one
    found = inspect.signature(value)
    shown, star = [], False
    for one in found.parameters.values():
        if one.name in ("self", "cls"):
            continue
        star = star or one.kind is one.VAR_POSITIONAL
        if one.kind is one.KEYWORD_ONLY and not star:
            shown.append("*")
            star = True
        shown.append(_parameter(one))
    if inspect.isclass(value) and len(shown) > MANY:
        shown[MANY:] = [f"… {len(shown) - MANY} more"]
    returns = "" if inspect.isclass(value) or found.return_annotation is found.empty else _type(found.return_annotation)
    return f"({', '.join(shown)})" + (f" -> {returns}" if returns else "")


def _parameter(one: inspect.Parameter) -> str:
    stars = "*" if one.kind is one.VAR_POSITIONAL else "**" if one.kind is one.VAR_KEYWORD else ""
    text: str = stars + one.name.lstrip("_") + ("" if one.annotation is one.empty else f": {_type(one.annotation)}")
    if one.default is one.empty:
        return text
    default = f"{type(one.default).__name__}.{one.default.name}" if isinstance(one.default, Enum) else repr(one.default)
    plain = len(default) <= LONG and not re.search(r"NOTHING|<|Factory", default)
    return f"{text}{' = ' if ':' in text else '='}{default if plain else '…'}"


def _type(annotation: Any) -> str:
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return re.sub(r"\b(?:[a-z_]\w*\.)+(?=[A-Z])", "", text)


def entry(module: ModuleType, name: str, value: Any) -> Iterator[str]:
    """The lines of a public name: itself, then the members of a class."""
    text = described(module, name, value)
    if inspect.isclass(value) and issubclass(value, Enum):
        names = [one.name for one in value]
        shown = ", ".join(f"`{one}`" for one in names[:MANY]) + (f" … {len(names) - MANY} more" if names[MANY:] else "")
        yield f"- `{name}`: {text} Values: {shown}."
    elif inspect.isclass(value) and issubclass(value, BaseException):
        yield f"- `{name}` ({value.__mro__[1].__name__}): {text}"
    elif inspect.isclass(value):
        yield f"- `{name}{signature(value)}`: {text}"
        yield from (f"  - {line}" for line in _members(value))
    else:
        yield f"- `{name}{signature(value) if inspect.isroutine(value) else ''}`: {text}"


def _members(owner: type) -> Iterator[str]:
    """The public methods and properties that a class defines itself."""
    for name, value in vars(owner).items():
        plain = value.__func__ if isinstance(value, classmethod | staticmethod) else value
        about = sentence(inspect.getdoc(plain))
        if name.startswith("_") or not about:
            continue
        if isinstance(value, property):
            yield f"`.{name}`: {about}"
        elif inspect.isfunction(plain):
            yield f"`.{name}{signature(plain)}`: {about}"


def section(name: str) -> str:
    """A module's part of the page."""
    module = importlib.import_module(name)
    lines = [line for public, value in sorted(public_names(module).items()) for line in entry(module, public, value)]
    return f"\n## `{name}`\n\n{sentence(module.__doc__)}\n\n" + "".join(f"{line}\n" for line in lines)


def page(_: str = "") -> str:
    """The whole page."""
    return INTRODUCTION + "".join(map(section, MODULES)) + NEXT


if __name__ == "__main__":
    sys.exit(keep(PAGE, page, __doc__))
