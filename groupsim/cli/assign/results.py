"""The results of `groupsim assign`: one assignor on the group of a document, without a simulation.

The result has the form of the document: the first round, and under `steps` each later round, on the same assignor
object:

    {"id": "...", "assignor": "sticky", "assignment": {"c1": [["t", 0], ["t", 1]]}, "counts": {"c1": 2},
     "before": {"c1": [["t", 0]]}, "moves": 0, "kept": 2, "transferring": [["t", 2, "c2"]],
     "steps": [{"change": "...", "assignment": ...}]}

`before` has the claimed partitions by member; it is absent in a round without claims. `moves` counts partitions that a
member gets although another one claims them, `kept` those that their claimant keeps. In a later round without claims,
as under `range`, the partitions of the round before count as claimed. `transferring` lists the partitions that a sticky
assignor withholds for another member: [topic, partition, new member]. A round on which Kafka's class throws (or never
returns) has `error` instead of these keys. With `explain` a round also has `explanation`, its steps in order
(`groupsim.cli.render.assign_steps`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from attrs import evolve
from rich.console import Group
from rich.text import Text

from groupsim.assignors import (
    NO_STEPS,
    Assignor,
    AssignorError,
    CooperativeStickyAssignor,
    JavaFailure,
    Steps,
    StickyAssignor,
    resolve,
    run_assignor,
)
from groupsim.assignors.base.loading import load_object
from groupsim.assignors.server.interface import AssignmentFailed, ServerAssignor
from groupsim.assignors.server.registry import server_assignors
from groupsim.cli.assign.documents import Claimant, Document, Round, parse_document, read_documents
from groupsim.cli.assign.on_server import SERVER_ASSIGNORS, assign_on_server
from groupsim.cli.exits import BAD_INPUT, RUN_FAILED, Trouble
from groupsim.cli.render.assign_steps import explanation, note_changes
from groupsim.cli.render.owners import picture
from groupsim.cli.render.owners_columns import columns_of_round
from groupsim.protocol.embedded.assignment import GroupAssignment, MemberSubscription
from groupsim.protocol.embedded.sticky_data import encode_generation, encode_sticky_user_data
from groupsim.protocol.messages.group import TopicPartition

__all__ = ["read_documents", "render_table", "run_document", "run_file"]

Result = dict[str, Any]
Worker: TypeAlias = Assignor | ServerAssignor
"""An assignor of the leader, or of the coordinator."""


def run_file(path: str, assignor: str | None = None, explain: bool = False) -> list[Result]:
    """Return the results of all documents of a file (`-`: standard input). All are read before the first runs.

    Raises Trouble: exit code 2 for a bad document or an unknown assignor, 3 for a custom assignor that fails.
    """
    return [run_document(document, assignor, explain) for document in read_documents(path)]


def run_document(
    document: Document | Mapping[str, object], assignor: str | None = None, explain: bool = False
) -> Result:
    """Run all rounds of a document under the named assignor, or else under that of the document.

    Raises Trouble as `run_file` does.
    """
    if not isinstance(document, Document):
        document = parse_document(dict(document))
    name = assignor or document.assignor
    if name is None:
        raise Trouble(f"{document.place}: no assignor is given", "add --assignor NAME, or an `assignor` key")
    worker = _resolve(name)
    rounds: list[Result] = []
    for number, one in enumerate(document.rounds, 1):
        before = rounds[-1].get("assignment", {}) if rounds else {}
        rounds.append(_run_round(worker, one, before, f"{document.place}, round {number}", explain))
    head = {"id": document.id} if document.id is not None else {}
    result: Result = {**head, "assignor": name if name in SERVER_ASSIGNORS else worker.name, **rounds[0]}
    if len(rounds) > 1:
        result["steps"] = [
            {**({"change": one.change} if one.change else {}), **given}
            for one, given in zip(document.rounds[1:], rounds[1:])
        ]
    return result


def _resolve(name: str) -> Worker:
    if name in SERVER_ASSIGNORS:
        return SERVER_ASSIGNORS[name]()
    try:
        if ":" in name and _is_of_the_coordinator(load_object(name, Path.cwd())):
            return server_assignors((name,))[0]
        return resolve(name)
    except AssignorError as problem:
        raise Trouble(str(problem), f"of the coordinator: {', '.join(SERVER_ASSIGNORS)}", BAD_INPUT) from problem


def _is_of_the_coordinator(loaded: object) -> bool:
    return isinstance(loaded, type) and issubclass(loaded, ServerAssignor)


def _run_round(assignor: Worker, one: Round, before: Mapping[str, Any], place: str, explain: bool) -> Result:
    members = [_subscription(assignor, member) for member in one.members]
    steps = Steps() if explain else NO_STEPS
    note_changes(members, before, steps)
    if isinstance(assignor, ServerAssignor):
        return {**_server_round(assignor, one, members, before), **explanation(steps)}
    try:
        given = run_assignor(assignor, one.topics, members, max(assignor.protocols), steps=steps)
    except JavaFailure as failure:
        return {"error": f"{failure.java}: {failure.reason}", **explanation(steps)}
    except AssignorError as problem:
        raise Trouble(f"{place}: {problem}", "--traceback prints the assignor's traceback", RUN_FAILED) from problem
    return {**_account(given, _claims(members, before), assignor), **explanation(steps)}


def _server_round(
    assignor: ServerAssignor, one: Round, members: Sequence[MemberSubscription], before: Mapping[str, Any]
) -> Result:
    try:
        return _account(assign_on_server(assignor, one, before), _claims(members, before), assignor)
    except AssignmentFailed as failure:
        return {"error": f"PartitionAssignorException: {failure}"}


def _claims(members: Sequence[MemberSubscription], before: Mapping[str, Any]) -> dict[TopicPartition, set[str]]:
    """Return the claimants of each partition: as the members state, or else the owners in the round before."""
    claimed: dict[TopicPartition, set[str]] = {}
    says = any(member.owned for member in members)
    for member in members:
        had = [TopicPartition(*partition) for partition in before.get(member.member_id, ())]
        for partition in member.owned if says else had:
            claimed.setdefault(partition, set()).add(member.member_id)
    return claimed


def _subscription(assignor: Worker, member: Claimant) -> MemberSubscription:
    """Return the member's subscription, with its claims where the assignor reads them: in user data or in fields."""
    subscription = member.subscription
    generation = -1 if member.generation is None else member.generation
    if isinstance(assignor, StickyAssignor) and member.claims_anything:
        return evolve(subscription, user_data=encode_sticky_user_data(subscription.owned, generation))
    if isinstance(assignor, CooperativeStickyAssignor) and subscription.generation != member.generation:
        return evolve(subscription, user_data=encode_generation(generation))
    return subscription


def _account(given: GroupAssignment, claimed: Mapping[TopicPartition, set[str]], assignor: Worker) -> Result:
    """Return the assignment as JSON, with the counts of moved and kept partitions."""
    got = [(partition, member_id) for member_id, held in given.partitions.items() for partition in held]
    kept = sum(member_id in claimed.get(partition, ()) for partition, member_id in got)
    moves = sum(partition in claimed and member_id not in claimed[partition] for partition, member_id in got)
    result: Result = {
        "assignment": {m: [list(partition) for partition in held] for m, held in given.partitions.items()},
        "counts": {m: len(held) for m, held in given.partitions.items()},
        "moves": moves,
        "kept": kept,
    }
    if claimed:
        before: dict[str, list[list[Any]]] = {member_id: [] for member_id in given.partitions}
        for partition in sorted(claimed):
            for member_id in sorted(claimed[partition]):
                before.setdefault(member_id, []).append(list(partition))
        result["before"] = before
    moving = _transferring(assignor)
    if moving is not None:
        result["transferring"] = [[*partition, member] for partition, member in sorted(moving.items())]
    return result


def _transferring(assignor: Worker) -> Mapping[TopicPartition, str] | None:
    if isinstance(assignor, CooperativeStickyAssignor):
        return assignor.withheld
    return assignor.transferring if isinstance(assignor, StickyAssignor) else None


def render_table(result: Result, width: int | None = None) -> Group:
    """Render each round: owners before and after side by side, counts and moves; uncut without a `width`."""
    title = " · ".join(str(result[key]) for key in ("assignor", "id") if key in result)
    steps = [
        _round_table(step, f"then {step.get('change', f'round {n}')}", width)
        for n, step in enumerate(result.get("steps", ()), 2)
    ]
    return Group(_round_table(result, title, width), *steps)


def _round_table(one: Result, title: str, width: int | None) -> Group | Text:
    if "error" in one:
        return Text(f"{title}: Kafka's assignor fails with {one['error']}")
    lines = picture(columns_of_round(one), width, most=None, title="member")
    return Group(Text(title, style="bold"), *lines, Text(_caption(one)))


def _caption(one: Result) -> str:
    counts = list(one["counts"].values())
    spread = f"{min(counts)} to {max(counts)} each, " if counts else ""
    held_back = len(one.get("transferring", ()))
    waiting = f", {held_back} changing hands" if held_back else ""
    return f"{sum(counts)} partitions, {spread}{one['kept']} kept, {one['moves']} moved{waiting}"
