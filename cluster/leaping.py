"""Many rounds of heartbeats at once, while nothing else happens anywhere.

A choir (`choir.py`) carries a quiet heartbeat out from end to end when it goes out. If nothing else lies in the event
loop's heap for several intervals, then neither can anything come between one round of its heartbeats and the next: all
that is left of a round, once the next is over, is what it has used up (a correlation id, two latencies). So all rows
are moved on by as many rounds as there is room for, and get the numbers of the last of them.

What makes that sure: nothing is on its way; no row in the queue was given up; and the longest latency that can be drawn
at all is so short that each heartbeat is answered before the next is due. So it is not looked at each of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from groupsim.cluster.latency import BLOCK

if TYPE_CHECKING:
    from groupsim.cluster.choir import Choir

MOST = BLOCK // 2
"""Rounds at once, at most: with two latencies each they use up a block, so that a row draws one block for a leap."""


def rounds(choir: Choir, clear_us: int) -> int:
    """How many rounds are over before `clear_us`, with their answers; 0 where there is nothing to be gained.

    It is asked while nothing is on its way. After a leap all rows go out once by themselves, so that the work between
    two looks for ctrl-C stays in proportion to theirs.
    """
    dues = choir.dues
    if not dues or dues[0][0] < choir.leapt_us or choir.answered_us >= choir.interval_us:
        return 0
    found = (clear_us - 1 - choir.answered_us - dues[-1][0]) // choir.interval_us + 1
    if found < 2 or sum(len(rows) for _, rows in dues) != choir.rows:
        return 0
    return min(found, MOST)


def leap(choir: Choir, count: int) -> int:
    """Carry out so many rounds of all rows; returns when the last heartbeat of them went out."""
    dues, clients, last_ids, ticket = choir.dues, choir.clients, choir.last_ids, choir.ticket
    on_us = count * choir.interval_us
    sent_us = 0
    for _, rows in dues:
        for row in rows:  # first the rounds before the last: who shares a client with another row takes turns with it
            last_ids[clients[row]] += count - 1
    for _ in range(len(dues)):
        due_us, rows = dues.popleft()
        sent_us = due_us + on_us - choir.interval_us
        for row in rows:
            there_us, back_us = _draw(choir, row, 2 * count)
            client = clients[row]
            choir.sent_us[row] = sent_us
            choir.asked[row] = ticket()
            choir.ids[row] = last_ids[client] = last_ids[client] + 1
            choir.judged_us[row] = judged_us = sent_us + there_us + choir.processing_us
            choir.judged[row] = ticket()
            choir.alive_us[row] = judged_us + back_us
        dues.append((due_us + on_us, rows))
    choir.leapt_us = dues[-1][0]
    return sent_us


def _draw(choir: Choir, row: int, count: int) -> tuple[int, int]:
    """Use up so many latencies of a row, a block of them at most; returns the last two."""
    at, latencies, first = choir.at, choir.latencies, row * BLOCK
    there = at[row] + count - 2
    if there == BLOCK - 1:  # the last of one block, and the first of the next
        there_us = latencies[first + there]
        back = choir.refill(row)
        at[row] = back + 1
        return there_us, latencies[first + back]
    if there >= BLOCK:
        there += choir.refill(row) - BLOCK
    at[row] = there + 2
    return latencies[first + there], latencies[first + there + 1]
