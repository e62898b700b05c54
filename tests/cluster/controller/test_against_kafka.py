"""Changes of partitions, held against what Kafka's own code makes of the same.

`partition_changes.txt` was written by the `PartitionChangeBuilder` of 4.4.0, driven along random histories of
partitions (fenced brokers, AlterPartition, elections of all three kinds, reassignments, unclean stops).
"""

from __future__ import annotations

from pathlib import Path

from groupsim.cluster.controller.elections import Election, Nodes, Reassignment, Rules, Wanted, decide
from groupsim.protocol.messages.cluster import PartitionState


def _nodes(text: str) -> Nodes:
    return tuple(int(node) for node in text.split(",") if node)


def _optional(text: str) -> Nodes | None:
    return None if text == "-" else _nodes(text)


def _partition(text: str) -> tuple[PartitionState, Reassignment | None]:
    replicas, isr, leader, elr, known, removing, adding, recovering, epoch, version = text.split(";")
    moving = Reassignment(_nodes(adding), _nodes(removing)) if adding or removing else None
    numbers = (int(leader), int(epoch), int(version), _nodes(elr), _nodes(known), recovering == "1")
    return PartitionState(_nodes(replicas), _nodes(isr), *numbers), moving


def _wanted(text: str) -> Wanted:
    isr, election, replicas, removing, adding, stopped, recovering = text.split(";")
    return Wanted(
        _optional(isr),
        Election[election],
        _optional(replicas),
        None if removing == "-" else Reassignment(_nodes(adding), _nodes(removing)),
        None if stopped == "-" else int(stopped),
        None if recovering == "-" else recovering == "1",
    )


def test_six_hundred_changes_come_out_as_in_kafka() -> None:
    """Leader, in-sync set, eligible replicas, epochs and reassignments are equal, change for change."""
    lines = Path(__file__).with_name("partition_changes.txt").read_text(encoding="utf-8").splitlines()
    cases = [line for line in lines if not line.startswith("#")]
    for case in cases:
        before, up, rules, wanted, after = case.split("|")
        min_isr, elr, shrink = (int(number) for number in rules.split(";"))
        state, moving = _partition(before)
        in_force = Rules(_nodes(up).__contains__, min_isr, bool(elr), bool(shrink))
        decision = decide(state, _wanted(wanted), in_force, moving)
        found = None if decision is None else (decision.state, decision.reassignment)
        assert found == (None if after == "none" else _partition(after)), case
    assert len(cases) == 600
