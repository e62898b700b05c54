"""The description of tables: columns, their types and meanings, and the key of the tables of runs."""

from __future__ import annotations

from enum import StrEnum

from groupsim.protocol.values import frozen


class Type(StrEnum):
    """The types of columns. The values are Spark's own names."""

    INT = "int"
    LONG = "bigint"
    BOOL = "boolean"
    TEXT = "string"


@frozen
class Column:
    """One column of a table; `null` when a row may lack a value."""

    name: str
    type: Type
    meaning: str
    null: bool = False


def whole(name: str, meaning: str, null: bool = False) -> Column:
    """A 32-bit integer: a count, a partition, a generation."""
    return Column(name, Type.INT, meaning, null)


def large(name: str, meaning: str, null: bool = False) -> Column:
    """A 64-bit integer: a time, an offset, a sum."""
    return Column(name, Type.LONG, meaning, null)


def flag(name: str, meaning: str) -> Column:
    """A boolean."""
    return Column(name, Type.BOOL, meaning)


def text(name: str, meaning: str, null: bool = False) -> Column:
    """Text."""
    return Column(name, Type.TEXT, meaning, null)


KEY = (
    whole("cell", "number of the cell in the grid, from 0"),
    large("seed", "seed of the run; runs of one seed share faults, latencies and processing times"),
)


@frozen
class Table:
    """One table: its name, the meaning of a row, its columns after those of the key, and these."""

    name: str
    row: str
    own: tuple[Column, ...]
    key: tuple[Column, ...] = KEY

    @property
    def columns(self) -> tuple[Column, ...]:
        """All columns, the key first."""
        return self.key + self.own

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all columns, in order."""
        return tuple(column.name for column in self.columns)
