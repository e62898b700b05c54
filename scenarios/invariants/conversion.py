"""What a group keeps when its protocol changes: O8.

Source: consumer-protocol reference, 1.17 and 3.5.
"""

from __future__ import annotations

from groupsim.coordinator.base.records import GroupRecord
from groupsim.scenarios.invariants.checker import Checker, Found
from groupsim.scenarios.invariants.steps import GroupChange, GroupModel, Input


class ConversionKeepsMembers(Checker):
    """O8."""

    def change(self, change: GroupChange) -> Found:
        """Look for a partition of two members in a group that was a classic one."""
        if not change.converted:
            return
        twice = {key: owners for key, owners in change.model.holders.items() if len(owners) > 1}
        if twice:
            owners = sorted({one for several in twice.values() for one in several})
            what = "a group that was a classic one has a partition at two members"
            yield self.at(change.step, change.group_id, what, members=owners, partitions=twice)

    def gone(self, step: Input, model: GroupModel) -> Found:
        """Compare a classic group with the consumer group that it was."""
        for append in step.appends:
            for record in append.records:
                if isinstance(record, GroupRecord) and record.value is not None and record.group_id == model.group_id:
                    foreign = [one.member_id for one in record.value.members if one.member_id not in model.members]
                    new = getattr(step.request, "member_id", None)
                    foreign = [one for one in foreign if one != new and not self._joins(step, one)]
                    epochs = {"group epoch": model.head.group_epoch, "generation": record.value.generation}
                    if foreign:
                        what = "a group that becomes classic has members that it did not have"
                        yield self.at(step, model.group_id, what, members=foreign, epochs=epochs)
                    if record.value.generation < model.head.group_epoch:
                        what = "a group that becomes classic falls back to an older generation"
                        yield self.at(step, model.group_id, what, epochs=epochs)

    @staticmethod
    def _joins(step: Input, member_id: str) -> bool:
        """Whether the member joins with this input: it takes the place of a static one."""
        return step.arrival is not None and step.arrival.fresh_id == member_id
