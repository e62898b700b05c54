"""The decorators of attrs classes: what they share with attrs, and what they do not generate."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from groupsim.protocol import values

PAIRS = [(values.define, attrs.define), (values.frozen, attrs.frozen), (values.value, attrs.frozen)]


def made(decorate: Any) -> list[Any]:
    """Objects of classes with every kind of field that a repr treats in its own way."""

    @decorate
    class Inner:
        number: int
        hidden: str = attrs.field(default="secret", repr=False)

    @decorate(kw_only=True)
    class Outer:
        inner: Inner
        masked: str = attrs.field(default="password", repr=lambda _: "***")
        later: int = attrs.field(init=False)
        named: list[Any] = attrs.Factory(list)

    @decorate
    class Derived(Inner):
        more: tuple[Any, ...] = ()

    @decorate
    class Own:
        number: int = 1

        def __repr__(self) -> str:
            return f"number {self.number}"

    around = Outer(inner=Inner(1), named=[])
    around.named.append(around)
    return [Inner(1), Outer(inner=Inner(2)), Derived(3, "", ("x", Own())), Own(), around]


@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
def test_a_class_shows_what_attrs_would_show(ours: Any, theirs: Any) -> None:
    """Hidden, masked and missing fields, a base class, an own `__repr__`, and an object within itself."""
    assert [repr(one) for one in made(ours)] == [repr(one) for one in made(theirs)]


def test_all_classes_share_one_repr() -> None:
    """None is compiled for a class: that took a fifth of the CPU time in which a process starts."""
    first, outer, *_ = made(values.frozen)
    assert type(first).__repr__ is type(outer).__repr__


def test_only_a_value_can_be_written_to() -> None:
    """`frozen` has the guard of attrs, which a value goes without; both are hashed and compared by their fields."""
    guarded, free = made(values.frozen)[0], made(values.value)[0]
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        guarded.number = 2
    before = hash(free)
    free.number = 2
    assert hash(free) != before
    assert hash(type(guarded)(5)) == hash(type(guarded)(5))
