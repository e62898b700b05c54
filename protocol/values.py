"""`value`: an attrs class whose objects nobody changes, for what is made by the thousand.

To a type checker, and so for the whole house, it is `attrs.frozen`. At run time it does without the guard: that sends
every field of every new object through `object.__setattr__`, which takes twice to three times as long as the object
takes without. What users' own code is handed (assignors, plugins) stays `frozen`, for that code may never have met a
type checker. Equality, hash, repr and slots are the same.
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
