"""Write docs/answers.md: what a group answers to each request in each state, asked of the coordinator's own code.

python tools/draw_answers.py            write docs/answers.md
python tools/draw_answers.py --check    exit 1 when the file is not what would be written

Each cell is one request put to a partition's core (`groupsim.coordinator.testing.Bench`) with a group in that state;
the answer is read from the response, so the page cannot differ from what a simulated broker does. The core is asked
again as each older broker version; a cell whose answer differs there has a row in the second table.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from attrs import frozen

from groupsim.coordinator.base.config import CoordinatorConfig
from groupsim.coordinator.base.versions import BASELINE
from groupsim.coordinator.conversion.upgrade import REFUSALS
from groupsim.coordinator.partition.admission import ADMISSION, Decision, Refusal
from groupsim.coordinator.testing import GROUP, Bench, Sent
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import (
    DescribeGroupsRequest,
    JoinGroupResponse,
    JoinProtocol,
    LeaveGroupResponse,
    OffsetCommitResponse,
    OffsetFetchResponse,
    TopicPartition,
)

TARGET = Path(__file__).resolve().parent.parent / "docs" / "answers.md"

VERSIONS = ("0.11", "1.1", "2.0", "2.2", "2.3", "2.8", "3.0", "3.9", "4.0", BASELINE)
"""The brokers that are asked, oldest first."""
EMPTY, PREPARING, COMPLETING, STABLE, DEAD = "Empty", "PreparingRebalance", "CompletingRebalance", "Stable", "Dead"
STATES = (EMPTY, PREPARING, COMPLETING, STABLE, DEAD)
PARKED = "parked"
NEWS = (JoinProtocol("range", b"changed"),)

HEAD = """# What a group answers: state × request

<!-- Written by tools/draw_answers.py, which asks the coordinator's own code. Do not edit: a test compares the two. -->

Each cell is the answer of a classic group's coordinator, Kafka {version}, to one request of one sender. *parked* means
that the request is kept without an answer (the purgatory): a JoinGroup until the round closes, a SyncGroup until the
leader's assignment is stored. `NONE` is success. [states.md](states.md) has the ways from one state to another.

The group has two dynamic members, the leader and a follower, at generation 1. In PreparingRebalance a third has joined
and the two have not come back yet. Empty was left by its last member. Dead is a group whose coordinator has given the
partition up; a broker answers NOT_COORDINATOR before the group is asked, so a client sees that error.
"""


@frozen
class Scene:
    """A bench whose group `g` is in a known state."""

    bench: Bench
    leader: str
    follower: str

    @property
    def generation(self) -> int:
        """The generation that members would send."""
        return 1


def scene(state: str, version: str) -> Scene:
    """Return the group `g` in this state on a broker of this version."""
    bench = Bench(CoordinatorConfig.from_properties({"broker.version": version}))
    sent = [bench.join(name) for name in ("a", "b")]
    bench.finish_round()
    leader, follower = (one.joined.member_id for one in sent)
    if state != COMPLETING:
        bench.assign()
    if state == PREPARING:
        bench.join("c")
    elif state == EMPTY:
        bench.leave(leader)
        bench.leave(follower)
        bench.advance_ms(0)
    elif state == DEAD:
        bench.carry_out(bench.shard.unload(bench.now_us))
    if bench.state != state:
        raise AssertionError(f"{version}: the group is {bench.state}, {state} was meant")
    return Scene(bench, leader, follower)


@frozen
class Row:
    """One request of one sender."""

    api: str
    sender: str
    ask: Callable[[Scene], Sent | str]


def _commit(stage: Scene, member_id: str, generation: int) -> Sent:
    return stage.bench.commit_offset(5, member_id=member_id, generation=generation)


def _described(stage: Scene) -> str:
    found = stage.bench.shard.describe(GROUP, DescribeGroupsRequest((GROUP,), version=5))
    return found.state


ROWS = (
    Row("JoinGroup v4", "a newcomer without a member id", lambda s: s.bench.join("x", version=4)),
    Row("JoinGroup v3", "a newcomer without a member id", lambda s: s.bench.join("x", version=3)),
    Row("JoinGroup", "the leader, as before", lambda s: s.bench.join("a", member_id=s.leader)),
    Row("JoinGroup", "a follower, as before", lambda s: s.bench.join("b", member_id=s.follower)),
    Row("JoinGroup", "a follower with news", lambda s: s.bench.join("b", member_id=s.follower, protocols=NEWS)),
    Row("JoinGroup", "an unknown member id", lambda s: s.bench.join("x", member_id="stranger")),
    Row("JoinGroup", "another protocol", lambda s: s.bench.join("x", protocols=(JoinProtocol("other", b""),))),
    Row("SyncGroup", "the leader", lambda s: s.bench.sync(s.leader, s.generation, {s.leader: b"p"})),
    Row("SyncGroup", "a follower", lambda s: s.bench.sync(s.follower, s.generation)),
    Row("SyncGroup", "an old generation", lambda s: s.bench.sync(s.follower, s.generation - 1)),
    Row("SyncGroup", "an unknown member id", lambda s: s.bench.sync("stranger", s.generation)),
    Row("Heartbeat", "a member", lambda s: s.bench.heartbeat(s.follower, s.generation)),
    Row("Heartbeat", "an old generation", lambda s: s.bench.heartbeat(s.follower, s.generation - 1)),
    Row("Heartbeat", "an unknown member id", lambda s: s.bench.heartbeat("stranger", s.generation)),
    Row("LeaveGroup", "a member", lambda s: s.bench.leave(s.follower)),
    Row("LeaveGroup", "an unknown member id", lambda s: s.bench.leave("stranger")),
    Row("OffsetCommit", "a member", lambda s: _commit(s, s.follower, s.generation)),
    Row("OffsetCommit", "an old generation", lambda s: _commit(s, s.follower, s.generation - 1)),
    Row("OffsetCommit", "an unknown member id", lambda s: _commit(s, "stranger", s.generation)),
    Row("OffsetCommit", "a plain commit (no member id, generation −1)", lambda s: _commit(s, "", -1)),
    Row("OffsetFetch", "anyone", lambda s: s.bench.fetch_offsets(TopicPartition("t", 0))),
    Row("DescribeGroups", "anyone (the state that is shown)", _described),
)


def answer(row: Row, state: str, version: str) -> str:
    """Ask once; returns the error, `parked`, or what the row reads itself."""
    asked = row.ask(scene(state, version))
    if isinstance(asked, str):
        return asked
    if not asked.answered:
        return PARKED
    response = asked.response
    if isinstance(response, LeaveGroupResponse) and response.error is ErrorCode.NONE:
        return response.members[0].error.name
    if isinstance(response, OffsetCommitResponse):
        return response.partitions[0][1].name
    if isinstance(response, JoinGroupResponse) and response.error is ErrorCode.NONE:
        return f"NONE, generation {response.generation_id}"
    if isinstance(response, OffsetFetchResponse):
        return response.error.name
    return asked.error.name


def page() -> str:
    """Return the whole page."""
    return "\n".join(
        (
            HEAD.format(version=BASELINE),
            *table(),
            "",
            *changes(),
            "",
            *admissions(),
            "",
            *upgrades(),
            "",
            *NOTES.splitlines(),
            "",
        )
    )


def table() -> Iterator[str]:
    """Yield a row for each request, a column for each state."""
    yield "| request | sender | " + " | ".join(STATES) + " |"
    yield "| --- | --- |" + " --- |" * len(STATES)
    last = ""
    for row in ROWS:
        cells = [_shown(answer(row, state, BASELINE)) for state in STATES]
        yield f"| {row.api if row.api != last else ''} | {row.sender} | " + " | ".join(cells) + " |"
        last = row.api


def _shown(text: str) -> str:
    return f"*{text}*" if text == PARKED else text.replace("NONE", "`NONE`") if text.startswith("NONE") else f"`{text}`"


def changes() -> list[str]:
    """Return the cells that an older broker answers otherwise, with the versions that were asked."""
    rows = []
    for row in ROWS:
        for state in STATES:
            answers = [(version, answer(row, state, version)) for version in VERSIONS]
            steps = [one for at, one in enumerate(answers) if not at or one[1] != answers[at - 1][1]]
            if len(steps) > 1:
                steps_shown = "; ".join(
                    f"{'up to' if not at else 'from'} {_last(answers, one) if not at else one[0]} {_shown(one[1])}"
                    for at, one in enumerate(steps)
                )
                rows.append(f"| {row.api} | {row.sender} | {state} | {steps_shown} |")
    asked = ", ".join(VERSIONS)
    return [
        "## Answers that changed",
        "",
        f"The same requests, put to brokers {asked}. What is not listed is the same in all of them.",
        "",
        "| request | sender | state | answer |",
        "| --- | --- | --- | --- |",
        *rows,
    ]


def _last(answers: list[tuple[str, str]], first: tuple[str, str]) -> str:
    """Return the last version of the run of equal answers that begins with the first one."""
    found = first[0]
    for version, one in answers:
        if one != first[1]:
            break
        found = version
    return found


ADMISSIONS = """## Groups that do not exist, and groups of another kind

What a request means depends first on the kind of the group of that id. This is the table on which the coordinator runs
(`coordinator/partition/admission.py`); the first row of a request and a kind whose condition holds decides.

| request | the group | if | decision |
| --- | --- | --- | --- |"""


def admissions() -> Iterator[str]:
    """Yield the table of admissions, a row for each decision."""
    yield from ADMISSIONS.splitlines()
    for request, kinds in ADMISSION.items():
        for kind, rows in kinds.items():
            for row in rows:
                name = "absent" if kind is None else kind.value
                yield f"| {request.API.title} | {name} | {row.when} | {_decision(row.decision)} |"


UPGRADES = """## Upgrades that are refused

A classic group with members is not upgraded if one of these holds (`coordinator/conversion/upgrade.py`). The answer is
GROUP_ID_NOT_FOUND, and its message begins with "Cannot upgrade classic group NAME to consumer group because". The last
two are found after every parked JoinGroup and SyncGroup has been answered REBALANCE_IN_PROGRESS.

| if | the message goes on |
| --- | --- |"""


def upgrades() -> Iterator[str]:
    """Yield the table of the refusals of an upgrade."""
    yield from UPGRADES.splitlines()
    for when, text in REFUSALS:
        yield f"| {when} | {text} |"


def _decision(decision: Decision | Refusal) -> str:
    if isinstance(decision, Decision):
        return decision.value
    text = f"`{decision.error.name}`"
    if not decision.since:
        return text
    older = f"`{decision.older.name}`" if decision.older else "no error"
    versions = f"{text} from version {decision.since}; {older} below"
    return versions if decision.switch is None else f"{versions}, and from older brokers"


NOTES = """## Beside the textbook

Introductions say that Dead answers UNKNOWN_MEMBER_ID and that Empty takes JoinGroup alone. The table says what Kafka
does: a Dead group answers COORDINATOR_NOT_AVAILABLE, so that its clients look for the coordinator again, and an Empty
group takes plain commits, which is how `kafka-consumer-groups.sh --reset-offsets` works. In PreparingRebalance a
member's commit is taken: a member that gives partitions up commits first. In CompletingRebalance the answer is
REBALANCE_IN_PROGRESS.

Next: [states.md](states.md), and `groupsim describe NAME --at TIME` for the requests that are parked at a moment."""


def main() -> int:
    """Write or check the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    if parser.parse_args().check:
        return int(TARGET.read_text("utf-8") != page())
    TARGET.write_text(page(), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
