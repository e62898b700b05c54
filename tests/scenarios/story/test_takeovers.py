"""Brokers that die and take over, in the timeline and the headline."""

from __future__ import annotations

import pytest

from groupsim.eventloop.trace.events import Kind
from groupsim.scenarios.story import tell
from groupsim.scenarios.story.causes import Cause
from groupsim.scenarios.story.headline_extras import of_records
from groupsim.scenarios.story.model import Records
from tests.helpers.trace_builders import Tape, formed


def killed(broker: str = "1", do: str = "crash-broker", how: str = "clean") -> Tape:
    """A formed group on broker-1, which is killed at 0:20 and replaced by broker-2 at 0:29."""
    tape = formed("c1", "c2").at(20)
    tape.add(Kind.ACTION, reason=f"{do}: broker {broker}", payload={"do": do, "broker": broker})
    tape.at(29).add(Kind.BROKER_FENCED, host="controller", reason="session expired", payload={"node": 1})
    for partition in (3, 7):
        place = {"topic": "__consumer_offsets", "partition": partition}
        tape.add(Kind.PARTITION_LEADER, host="controller", from_="1", to="2", reason=how, **place)
    payload = {"members": 2, "generation": 1}
    tape.add(Kind.GROUP_LOADED, host="broker-2", group="g1", generation=1, payload=payload)
    return tape


def lines(tape: Tape) -> list[str]:
    """Return the lines of the timeline beside actions and faults."""
    return [f"{note.host}: {note.what}" for note in tell(tape.at(60).end()).notes]


def test_a_fail_over_names_the_brokers_and_the_time_without_a_coordinator() -> None:
    """The timeline has the fenced broker, the leader changes, the next coordinator, and the time without one."""
    assert lines(killed()) == [
        "controller: broker-1 is fenced (session expired)",
        "controller: leader changes from broker-1: 2 of __consumer_offsets (clean)",
        "broker-2: coordinates g1 (2 members, generation 1) after 9.0 s without one",
    ]


def test_the_headline_counts_changes_of_coordinator() -> None:
    """The headline has the change of coordinator also without a rebalance."""
    assert tell(killed("coordinator").at(60).end()).headline.endswith("; 1 change of coordinator, 9.0 s without one")


def test_another_broker_s_death_is_not_where_it_began() -> None:
    """The step killed another broker, so the time without a coordinator is not known."""
    assert lines(killed("0"))[-1] == "broker-2: coordinates g1 (2 members, generation 1)"
    assert tell(killed("0").at(60).end()).headline.endswith("; 1 change of coordinator")


def test_a_load_without_an_election_gives_no_line() -> None:
    """Counted logs have no controller, so their stories have no such line."""
    tape = formed("c1")
    tape.at(20).add(Kind.GROUP_LOADED, host="broker-2", group="g1", payload={"members": 1, "generation": 1})
    assert lines(tape) == []


def test_a_load_from_old_metadata_is_no_change_of_coordinator() -> None:
    """A broker back before its session ends loads the groups it led; only the load after the election counts."""
    tape = formed("c1", "c2").at(20)
    tape.add(Kind.ACTION, reason="crash-broker: broker 1", payload={"do": "crash-broker", "broker": "1"})
    place = {"topic": "__consumer_offsets", "partition": 3}
    payload = {"members": 2, "generation": 1}
    tape.at(22).add(Kind.GROUP_LOADED, host="broker-1", group="g1", generation=1, payload=payload, **place)
    tape.at(29).add(Kind.PARTITION_LEADER, host="controller", from_="1", to="2", reason="clean", **place)
    tape.add(Kind.GROUP_LOADED, host="broker-2", group="g1", generation=1, payload=payload, **place)
    tape.at(40).add(Kind.GROUP_LOADED, host="broker-2", group="g1", generation=1, payload=payload, **place)
    other = {"topic": "__consumer_offsets", "partition": 7}
    tape.at(50).add(Kind.PARTITION_LEADER, host="controller", from_="2", to="1", reason="clean", **other)
    tape.add(Kind.GROUP_LOADED, host="broker-1", group="g1", generation=1, payload=payload, **place)
    assert [note.t_us for note in tell(tape.at(60).end()).take_overs] == [29_000_000]
    assert [line for line in lines(tape) if "coordinates" in line] == [
        "broker-2: coordinates g1 (2 members, generation 1) after 9.0 s without one"
    ]


def test_unclean_elections_have_a_line_of_their_own() -> None:
    """An unclean election, which may lose records, is named so."""
    tape = killed(how="unclean")
    tape.add(Kind.PARTITION_LEADER, host="controller", from_="-1", to="2", reason="clean", topic="orders", partition=0)
    assert "controller: leader changes from broker-1: 2 of __consumer_offsets (unclean)" in lines(tape)
    assert "controller: leader changes from none: 1 of orders (clean)" in lines(tape)


def test_a_returning_last_leader_differs_from_another_replica() -> None:
    """A 4.4.0 controller calls both UNCLEAN; of a lone replica's crash nothing is lost but what was not flushed."""
    tape = killed()
    for partition, back in ((0, "1"), (1, "2")):
        place = {"host": "controller", "topic": "orders", "partition": partition}
        tape.add(Kind.PARTITION_LEADER, from_="1", to="-1", reason="offline", **place)
        tape.add(Kind.PARTITION_LEADER, from_="-1", to=back, reason="unclean", **place)
    begin = "controller: leader changes from none: 1 of orders"
    found = [line for line in lines(tape) if line.startswith(begin)]
    assert found == [f"{begin} (unclean: the last leader again, with the records on its disk)", f"{begin} (unclean)"]


def forgotten(*, back: bool, loaded: bool = False) -> Tape:
    """The only replica of the group's offsets is killed at 0:20; at 1:20 it is back, without or with the group."""
    tape = formed("c1", "c2").at(20)
    tape.add(Kind.ACTION, reason="crash-broker: broker 1", payload={"do": "crash-broker", "broker": "1"})
    place = {"host": "controller", "topic": "__consumer_offsets"}
    for partition in range(50):
        tape.at(29).add(Kind.PARTITION_LEADER, from_="1", to="-1", reason="offline", partition=partition, **place)
    if back:
        for partition in range(50):
            tape.at(80).add(Kind.PARTITION_LEADER, from_="-1", to="1", reason="clean", partition=partition, **place)
    if loaded:
        tape.add(Kind.GROUP_LOADED, host="broker-1", group="g1", generation=1, payload={"members": 2, "generation": 1})
    return tape


def test_a_group_without_a_coordinator_is_in_the_headline() -> None:
    """No member leaves and no rebalance begins, but no commit is possible until the end."""
    story = tell(forgotten(back=False).at(120).end())
    assert story.headline.startswith("no rebalance: ")
    assert story.headline.endswith("; g1 has no coordinator from 0:20.000 on")


def test_a_group_lost_from_its_log_is_no_deploy() -> None:
    """Members that join again because the coordinator has no record of them have it as their cause."""
    tape = forgotten(back=True).at(81)
    tape.generation, tape.state = 0, "Empty"
    for host in ("c1", "c2"):
        tape.release(host, ["c1", "c2"].index(host), reason="lost")
    tape.join("c1", incarnation=2).prepare("c1", "ADD_MEMBER")
    tape.join("c2", incarnation=2).at(84).complete("c1", "c2").stable()
    story = tell(tape.at(120).end())
    assert [one.cause for one in story.groups[0].generations] == [Cause.FIRST_START, Cause.COORDINATOR_MOVE]
    assert "c1 joined again: the coordinator had no record of the group" in story.headline
    assert story.headline.endswith("; 60.0 s without a coordinator, and the next one has no record of the group")


def test_a_loaded_group_is_in_the_headline_once() -> None:
    """The clause about the coordinator has the time without one."""
    story = tell(forgotten(back=True, loaded=True).at(120).end())
    assert story.headline.endswith("; the same broker coordinates again after 60.0 s without a coordinator")


@pytest.mark.parametrize(
    ("records", "clauses"),
    [
        (Records(written=5399, once=5298, again=101), []),
        (Records(written=7199, once=4380, again=2819), ["2,819 of 7,199 records delivered again"]),
        (Records(written=1000, once=999, skipped=1), ["1 record never delivered"]),
        (Records(written=1000, once=990, skipped=4, expired=6), ["10 records never delivered"]),
        (Records(written=1000, once=800, lost=100, waiting=100),
         ["100 acknowledged records lost", "100 of 1,000 records still waiting at the end"]),
        (Records(written=1000, once=901, waiting=99), []),
        (Records(), []),
    ],
)  # fmt: skip
def test_the_headline_tells_what_became_of_the_records_where_that_is_the_incident(
    records: Records, clauses: list[str]
) -> None:
    """All lost records count; duplicates and waiting records from a tenth of all on."""
    assert list(of_records([Records(written=10, once=10), records])) == clauses
