"""The interface with which a mutant changes the program, and an implementation that reverts the changes."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from contextlib import ExitStack
from typing import Any, Protocol, TypeAlias

_ABSENT = object()


class Patcher(Protocol):
    """An object that changes attributes and items and reverts the changes later: pytest's `monkeypatch` is one."""

    def setattr(self, target: Any, name: str, value: Any) -> None:
        """Set an attribute of a module, a class or an object."""

    def setitem(self, dic: Any, name: Any, value: Any) -> None:
        """Set an item of a mapping."""


#: A function that restores one bug with a patcher.
Mutant: TypeAlias = Callable[[Patcher], None]


class Patches:
    """A patcher that reverts its changes, the last one first, when `undo` is closed."""

    def __init__(self, undo: ExitStack) -> None:
        self._undo = undo

    def setattr(self, target: Any, name: str, value: Any) -> None:
        """Set an attribute. Raises AttributeError if it does not exist."""
        getattr(target, name)
        own = vars(target).get(name, _ABSENT)  # as it is stored: a property, a static method
        self._undo.callback(delattr if own is _ABSENT else setattr, target, name, *([] if own is _ABSENT else [own]))
        setattr(target, name, value)

    def setitem(self, dic: MutableMapping[Any, Any], name: Any, value: Any) -> None:
        """Set an item of a mapping."""
        if name in dic:
            self._undo.callback(dic.__setitem__, name, dic[name])
        else:
            self._undo.callback(dic.__delitem__, name)
        dic[name] = value
