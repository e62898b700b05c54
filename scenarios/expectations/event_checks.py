"""Expectations about events: how often they happen, and the time between them."""

from __future__ import annotations

from itertools import pairwise

from groupsim.eventloop.units import show_us
from groupsim.protocol.values import frozen
from groupsim.scenarios.expectations.evidence import Evidence
from groupsim.scenarios.expectations.matching import MatchedEvents, Matcher
from groupsim.scenarios.language.keys import key
from groupsim.scenarios.language.registry import Check, Finding, Watch, check
from groupsim.scenarios.language.values import CountIs, SpanIs, read_count_is


@check("event")
@frozen(kw_only=True)
class EventHappens(Check, Matcher):
    """How often an event happens."""

    count: CountIs = key("How often; at least once when left out.", factory=lambda: read_count_is(">= 1"))

    def watch(self, evidence: Evidence) -> Watch:
        """Keep the matching events."""
        return MatchedEvents(evidence, self)

    def judge(self, evidence: Evidence) -> Finding:
        """Count the matching events."""
        found = list(self.all_in(evidence.watched(self).events, evidence))
        seqs = tuple(event.seq for event in found[:5])
        return Finding(
            self.count.holds(len(found)),
            f"{self}: {self.count}",
            f"{len(found)}",
            found[0].t_us if found else None,
            seqs,
        )

    __str__ = Matcher.__str__


@check("time-between")
@frozen(kw_only=True)
class TimeBetween(Check):
    """The time from one event to the next of another kind."""

    from_: Matcher = key("The event it begins with (the first that fits).")
    to: Matcher = key("The event it ends with (the first that fits, not before the other).")
    is_: SpanIs = key("How long: 10s ± 5ms, <= 3s, 9s..11s.")

    def watch(self, evidence: Evidence) -> Watch:
        """Keep the matching events."""
        return MatchedEvents(evidence, self.from_, self.to)

    def judge(self, evidence: Evidence) -> Finding:
        """Measure the time between the two."""
        meant = evidence.watched(self).events
        expected = f"from {self.from_} to {self.to}: {self.is_}"
        first = next(self.from_.all_in(meant, evidence), None)
        if first is None:
            return Finding(False, expected, f"there is no {self.from_}")
        later = [event for event in meant if event.seq > first.seq]
        last = next(self.to.all_in(later, evidence), None)
        if last is None:
            return Finding(False, expected, f"no {self.to} after that", first.t_us, (first.seq,))
        took = last.t_us - first.t_us
        return Finding(self.is_.holds(took), expected, show_us(took), last.t_us, (first.seq, last.seq))


@check("period")
@frozen(kw_only=True)
class Period(Check):
    """An event that repeats, with this time between one and the next."""

    of: Matcher = key("The event.")
    is_: SpanIs = key("Time between one and the next: 8s ± 300ms.")
    count: CountIs = key("How many there are; at least 3 when left out.", factory=lambda: read_count_is(">= 3"))

    def watch(self, evidence: Evidence) -> Watch:
        """Keep the matching events."""
        return MatchedEvents(evidence, self.of)

    def judge(self, evidence: Evidence) -> Finding:
        """Measure the time between each two in a row."""
        expected = f"{self.of} every {self.is_}, {self.count} times"
        found = list(self.of.all_in(evidence.watched(self).events, evidence))
        if not self.count.holds(len(found)):
            return Finding(False, expected, f"{len(found)} times")
        for one, other in pairwise(found):
            gap = other.t_us - one.t_us
            if not self.is_.holds(gap):
                return Finding(False, expected, f"{show_us(gap)} once", other.t_us, (one.seq, other.seq))
        gaps = [other.t_us - one.t_us for one, other in pairwise(found)]
        shown = f"{len(found)} times, {show_us(min(gaps))} to {show_us(max(gaps))} apart" if gaps else "once"
        return Finding(True, expected, shown, found[0].t_us, tuple(event.seq for event in found[:5]))


@check("spread")
@frozen(kw_only=True)
class Spread(Check):
    """The time between the first and the last of several events."""

    of: Matcher = key("The events.")
    is_: SpanIs = key("From the first to the last: <= 6ms.")
    count: CountIs = key("How many there are; at least 2 when left out.", factory=lambda: read_count_is(">= 2"))

    def watch(self, evidence: Evidence) -> Watch:
        """Keep the matching events."""
        return MatchedEvents(evidence, self.of)

    def judge(self, evidence: Evidence) -> Finding:
        """Measure the time from the first to the last."""
        expected = f"{self.of}, {self.count} of them, within {self.is_}"
        found = list(self.of.all_in(evidence.watched(self).events, evidence))
        if not self.count.holds(len(found)):
            return Finding(False, expected, f"{len(found)} of them")
        took = found[-1].t_us - found[0].t_us
        seqs = (found[0].seq, found[-1].seq)
        return Finding(self.is_.holds(took), expected, f"{len(found)} within {show_us(took)}", found[0].t_us, seqs)
