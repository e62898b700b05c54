"""The fetches of a process, as figures that can be added."""

from __future__ import annotations

from operator import add

from attrs import astuple

from groupsim.protocol.values import frozen


@frozen
class Fetches:
    """Fetches of one process over all its lives.

    sent         requests sent, long polls one by one
    empty        answered with neither records nor an error
    waited_us    time that they waited at brokers, in total
    """

    sent: int
    empty: int
    waited_us: int

    def __add__(self, other: Fetches) -> Fetches:
        return Fetches(*map(add, astuple(self), astuple(other)))
