"""Fetches of a process, as figures that add up."""

from __future__ import annotations

from operator import add

from attrs import astuple, frozen


@frozen
class Fetches:
    """Fetches of one process over all its lives.

    sent         requests sent, long polls one by one
    empty        answered with neither records nor an error
    waited_us    time that they had waited at brokers until they were answered
    """

    sent: int
    empty: int
    waited_us: int

    def __add__(self, other: Fetches) -> Fetches:
        return Fetches(*map(add, astuple(self), astuple(other)))
