"""What a scenario may expect of ownership as a quantity: for how long partitions had more than one owner."""

from __future__ import annotations

from attrs import frozen

from groupsim.scenarios.expectations.evidence import Evidence
from groupsim.scenarios.language.keys import key
from groupsim.scenarios.language.registry import Check, Finding, check
from groupsim.scenarios.language.targets import TheGroup
from groupsim.scenarios.language.values import SpanIs, show_duration
from groupsim.scenarios.story.rebalances.ownership import owned_twice_us


@check("owned-twice")
@frozen
class OwnedTwice(Check):
    """How long partitions had two owners, each believing to be the only one, summed over partitions."""

    is_: SpanIs = key("How long, summed over partitions: <= 3s, 1s..2s.", short=True)
    group: TheGroup | None = key("Which group; may be left out when there is one.", None)

    def judge(self, evidence: Evidence) -> Finding:
        """Add up the times in which spans of one partition overlap."""
        twice = owned_twice_us(evidence.group(self.group).spans, evidence.end_us)
        return Finding(self.is_.holds(twice), f"partitions owned twice: {self.is_}", show_duration(twice))
