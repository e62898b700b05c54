"""The parts of a file's plain data that Python lacks: numbers that keep their text, and paths."""

from __future__ import annotations

from typing import TypeAlias

#: The keys and indices from the top of a file to a value.
Path_: TypeAlias = tuple[str | int, ...]


class Decimalish(float):
    """A number with a fraction that keeps the text it was written in."""

    text: str

    def __new__(cls, text: str) -> Decimalish:
        number = super().__new__(cls, text.replace("_", ""))
        number.text = text
        return number

    def __reduce__(self) -> tuple[type[Decimalish], tuple[str]]:
        return Decimalish, (self.text,)  # so that a copy keeps the text
