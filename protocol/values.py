"""`value`: the decorator of attrs classes with many immutable objects.

To a type checker it is `attrs.frozen`. At run time it has no guard: the guard sends every field of every new object
through `object.__setattr__`, which takes two to three times as long as the object takes without. The types that users'
own code gets (assignors, plugins) stay `frozen`, because that code may not be type checked. Equality, hash, repr and
slots are the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from attrs import frozen as value
else:
    from functools import partial

    from attrs import define

    value = partial(define, unsafe_hash=True)

__all__ = ["value"]
