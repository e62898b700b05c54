"""Brokers that die and take over, as the timeline and the headline tell of them."""

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
    """The lines of the timeline beside actions and faults."""
    return [f"{note.host}: {note.what}" for note in tell(tape.at(60).end()).notes]


def test_a_fail_over_is_told_with_who_and_how_long() -> None:
    """The dead broker, what was handed over, the next coordinator, and the time without one."""
    assert lines(killed()) == [
        "controller: broker-1 leads nothing any more (session expired)",
        "controller: partitions led by broker-1: 2 of __consumer_offsets (clean)",
        "broker-2: coordinates g1 now, 2 members, generation 1; nobody did for 9.0 s",
    ]


def test_the_headline_counts_changes_of_coordinator() -> None:
    """Beside the rebalances there may be none of."""
    assert tell(killed("coordinator").at(60).end()).headline.endswith("; 1 change of coordinator, 9.0 s without one")


def test_another_broker_s_death_is_not_where_it_began() -> None:
    """Whom the step killed did not lead the group: nobody knows when the coordinator ended."""
    assert lines(killed("0"))[-1] == "broker-2: coordinates g1 now, 2 members, generation 1"
    assert tell(killed("0").at(60).end()).headline.endswith("; 1 change of coordinator")


def test_a_load_without_an_election_is_not_told() -> None:
    """Counted logs have no controller: their stories are as they were."""
    tape = formed("c1")
    tape.at(20).add(Kind.GROUP_LOADED, host="broker-2", group="g1", payload={"members": 1, "generation": 1})
    assert lines(tape) == []


def test_a_load_from_old_metadata_is_no_change_of_coordinator() -> None:
    """A broker that is back before its session has ended loads what it led; only the load after the election counts."""
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
        "broker-2: coordinates g1 now, 2 members, generation 1; nobody did for 9.0 s"
    ]


def test_unclean_elections_have_a_line_of_their_own() -> None:
    """What may have lost records is told apart from what has not."""
    tape = killed(how="unclean")
    tape.add(Kind.PARTITION_LEADER, host="controller", from_="-1", to="2", reason="clean", topic="orders", partition=0)
    assert "controller: partitions led by broker-1: 2 of __consumer_offsets (unclean)" in lines(tape)
    assert "controller: partitions that nobody led: 1 of orders (clean)" in lines(tape)


def test_a_last_leader_that_comes_back_is_told_apart_from_another_replica() -> None:
    """A 4.4.0 controller calls both UNCLEAN; of a lone replica's crash nothing is lost but what was not flushed."""
    tape = killed()
    for partition, back in ((0, "1"), (1, "2")):
        place = {"host": "controller", "topic": "orders", "partition": partition}
        tape.add(Kind.PARTITION_LEADER, from_="1", to="-1", reason="offline", **place)
        tape.add(Kind.PARTITION_LEADER, from_="-1", to=back, reason="unclean", **place)
    whose = "controller: partitions that nobody led: 1 of orders"
    told = [line for line in lines(tape) if line.startswith(whose)]
    assert told == [f"{whose} (unclean: the last leader again, with what its machine kept)", f"{whose} (unclean)"]


def forgotten(*, back: bool, loaded: bool = False) -> Tape:
    """The lone replica of the group's offsets is killed at 0:20; at 1:20 it is back and knows nothing, or all."""
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


def test_a_group_that_nobody_coordinates_any_more_is_in_the_headline() -> None:
    """No member leaves and no rebalance begins, and yet nothing can be committed until the end."""
    told = tell(forgotten(back=False).at(120).end())
    assert told.headline.startswith("no rebalance: ")
    assert told.headline.endswith("; g1 without a coordinator from 0:20.000 on")


def test_a_group_that_its_log_lost_is_told_as_that_and_not_as_a_deploy() -> None:
    """Members that join again because nobody knows them are the coordinator's doing; it was away for a minute."""
    tape = forgotten(back=True).at(81)
    tape.generation, tape.state = 0, "Empty"
    for host in ("c1", "c2"):
        tape.release(host, ["c1", "c2"].index(host), reason="lost")
    tape.join("c1", incarnation=2).prepare("c1", "ADD_MEMBER")
    tape.join("c2", incarnation=2).at(84).complete("c1", "c2").stable()
    told = tell(tape.at(120).end())
    assert [one.cause for one in told.groups[0].generations] == [Cause.FIRST_START, Cause.COORDINATOR_MOVE]
    assert "c1 joined again: the coordinator no longer knew the group" in told.headline
    assert told.headline.endswith("; 60.0 s without a coordinator, which forgot the group")


def test_a_group_that_was_loaded_is_told_once() -> None:
    """The change of coordinator has its clause, and the time without one is in it."""
    told = tell(forgotten(back=True, loaded=True).at(120).end())
    assert told.headline.endswith("; the same broker coordinates again, 60.0 s without a coordinator")


@pytest.mark.parametrize(
    ("records", "told"),
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
    records: Records, told: list[str]
) -> None:
    """Whatever is lost; what came twice or waits from a tenth of all on: a few do with any rebalance."""
    assert list(of_records([Records(written=10, once=10), records])) == told
