"""What the sticky assignors report before they compute: who claims what, and which of the two algorithms runs.

Source: `AbstractStickyAssignor.assign`, `allSubscriptionsEqual`.
"""

from __future__ import annotations

from collections.abc import Container, Sequence

from groupsim.assignors.common import in_line
from groupsim.assignors.steps import Steps
from groupsim.assignors.sticky.claims import Claim, of_generation


def note_claims(claims: Sequence[Claim], known: Container[str], steps: Steps) -> None:
    """The claims of each member, in the order in which they are taken in."""
    steps.note(f"members in the order of the leader's hash map: {in_line([one.member.member_id for one in claims])}")
    for claim in claims:
        if claim.partitions:
            steps.note(f"{claim.member.member_id} claims, with {of_generation(claim.generation)}", claim.partitions)
            gone = [partition for partition in claim.partitions if partition.topic not in known]
            steps.set_aside(gone, f"claimed by {claim.member.member_id}, but no member's topic in the metadata")
    if not any(claim.partitions for claim in claims):
        steps.note("no member claims anything")


def note_path(equal: bool, has_quotas: bool, racks: bool, steps: Steps) -> None:
    """Which algorithm runs, and whether racks count."""
    if equal:
        steps.note("all subscriptions are equal, so quotas decide: constrained assignment")
    elif has_quotas:
        steps.note("subscriptions differ, so partitions move until no move helps: general assignment")
    else:
        steps.note("this client has no quotas, so partitions move until no move helps: general assignment")
    if racks:
        steps.note("racks count: some partitions have a replica on a member's rack, and not all on all racks")
