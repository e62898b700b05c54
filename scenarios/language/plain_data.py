"""What the plain data of a file consist of besides mappings, lists and texts: numbers with a fraction, and paths."""

from __future__ import annotations

from typing import TypeAlias

#: The keys and indices from the top of a file to a value.
Path_: TypeAlias = tuple[str | int, ...]


class Decimalish(float):
    """A number with a fraction that remembers how it was written."""

    text: str

    def __new__(cls, text: str) -> Decimalish:
        number = super().__new__(cls, text.replace("_", ""))
        number.text = text
        return number

    def __reduce__(self) -> tuple[type[Decimalish], tuple[str]]:
        return Decimalish, (self.text,)  # a copy is made of the text, as the number was
