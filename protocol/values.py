"""`define`, `frozen` and `value`: the decorators of this package's attrs classes.

To a type checker `define` and `frozen` are those of attrs, and `value` is `attrs.frozen`. What differs at run time:

- All classes share one `__repr__`, which shows what attrs' own shows. attrs generates and compiles one for each class,
  and that alone was a fifth of the CPU time in which a process starts.
- A `value` has no guard: the guard sends every field of every new object through `object.__setattr__`, which takes two
  to three times as long as the object takes without. The types that users' own code gets (assignors, plugins) stay
  `frozen`, because that code may not be type checked. Equality, hash and slots are the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from attrs import define, frozen
    from attrs import frozen as value
else:
    from functools import partial
    from reprlib import recursive_repr

    import attrs

    @recursive_repr("...")
    def _shown(self: object) -> str:
        """Show an object as attrs does: the class, and every field that is not left out."""
        shown = []
        for one in self.__attrs_attrs__:
            if one.repr is not False:
                show = repr if one.repr is True else one.repr
                shown.append(f"{one.name}={show(getattr(self, one.name, attrs.NOTHING))}")
        return f"{type(self).__qualname__.rsplit('>.', 1)[-1]}({', '.join(shown)})"

    def _with_shared_repr(make, cls=None, /, **options):
        """Decorate with an attrs decorator, which generates no `__repr__` for a class that has one."""
        if cls is None:
            return partial(_with_shared_repr, make, **options)
        if "__repr__" not in vars(cls):
            cls.__repr__ = _shown
        return make(cls, **options)

    define = partial(_with_shared_repr, attrs.define)
    frozen = partial(_with_shared_repr, attrs.frozen)
    value = partial(_with_shared_repr, partial(attrs.define, unsafe_hash=True))

__all__ = ["define", "frozen", "value"]
