"""The control port over HTTP, with a cluster behind it that has simulated members of its own."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from jsonschema import Draft202012Validator

from groupsim.control import Control, ControlError, Served, TimedOut, Unreachable
from groupsim.serving.openapi import document

SCENARIO = """
run-for: 10m
broker: {group.initial.rebalance.delay.ms: 100}
topics: {orders: 4}
groups:
  g1:
    properties: {heartbeat.interval.ms: 300}
    members: {c: {count: 2}}
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One cluster for the whole module; each test leaves it whole."""
    file = tmp_path_factory.mktemp("served") / "two-members.yaml"
    file.write_text(SCENARIO, "utf-8")
    with Served(str(file)) as cluster:
        cluster.control.await_group("g1", state="Stable", members=2)
        yield cluster


@pytest.fixture
def control(served: Served) -> Control:
    """Its control port."""
    return served.control


def fetched(control: Control, path: str, **headers: str) -> tuple[int, bytes]:
    """Status and body of a plain GET."""
    try:
        with urlopen(Request(control.url + path, headers=headers), timeout=60) as answer:
            return answer.status, answer.read()
    except HTTPError as error:
        return error.code, error.read()


def schema(name: str) -> Draft202012Validator:
    """A validator for one schema of the OpenAPI document."""
    return Draft202012Validator({**document(), "$ref": f"#/components/schemas/{name}"})


@pytest.mark.parametrize(
    ("path", "title", "remedy"),
    [
        ("/", "there is no page at /", "GET /openapi.json describes all paths."),
        ("/cluser", "there is no GET /cluser", "did you mean `GET /cluster`? GET /openapi.json describes all paths."),
        ("/qqqqqqqqqqqqqqqq", "there is no", "POST /stop; GET /openapi.json describes all paths."),
    ],
)
def test_a_path_that_is_not_there_leads_to_those_that_are(control: Control, path: str, title: str, remedy: str) -> None:
    """`/` lists every route, a misspelt one gets the nearest, and all are sent to the document."""
    status, body = fetched(control, path)
    problem = json.loads(body)
    assert status == 404
    assert problem["title"].startswith(title)
    assert problem["remedy"].endswith(remedy)
    assert ("POST /faults" in problem.get("detail", "")) == (path == "/")


def test_answers_are_as_the_openapi_document_says(control: Control) -> None:
    """Cluster, groups, a group and a fault hold what their schemas want."""
    schema("Cluster").validate(control.cluster())
    schema("Groups").validate(json.loads(fetched(control, "/groups")[1]))
    schema("Group").validate(control.group("g1"))
    fault = control.fault("latency", member="c-1", add="1ms")
    schema("LiveFault").validate(fault.refresh())
    fault.end()


def test_a_fault_counts_what_it_sees_and_strikes(control: Control) -> None:
    """An error answers the second heartbeat of a simulated member once, and then it is over."""
    fault = control.fault("answer-error", to="second Heartbeat of c-1", is_="COORDINATOR_LOAD_IN_PROGRESS")
    fault.await_hits(1)
    assert (fault.seen, fault.hits, fault.over) == (2, 1, True)


def test_the_connections_of_a_client_are_broken(control: Control) -> None:
    """The client of that id is cut off, which is counted, and it is back as the member it was."""
    before = control.await_group("g1", state="Stable", members=2)
    fault = control.break_connections(before["members"][0]["client_id"])
    assert fault.over
    assert (fault.hits or 0) >= 1
    after = control.await_group("g1", state="Stable", members=2)
    assert [one["member_id"] for one in after["members"]] == [one["member_id"] for one in before["members"]]


def test_a_held_response_goes_out_when_it_is_released(control: Control) -> None:
    """A heartbeat's answer waits until the fault is ended, and the group outlives it."""
    with control.hold_response("Heartbeat", group="g1", client_id="*") as fault:
        assert not fault.await_hits(1).over
    assert fault.over
    control.await_group("g1", state="Stable", members=2)


def test_a_response_is_lost_or_late_and_the_log_is_slow(control: Control) -> None:
    """Each has a method of its own; a lost and a late heartbeat, a slow log and a failed append leave a group whole."""
    assert control.lose_response("Heartbeat", after="break", member_id="*").await_hits(1).over
    assert control.delay_response("Heartbeat", "500ms", group="g1").await_hits(1).over
    slow, failing = control.hold_appends("g1", "1s"), control.fail_append("g1", "NOT_ENOUGH_REPLICAS")
    assert (slow.document["fault"]["for"], failing.document["fault"]["error"]) == ("1s", "NOT_ENOUGH_REPLICAS")
    before = control.group("g1")["generation"]
    control.force_rebalance("g1")
    held = time.monotonic()
    control.await_group("g1", state="Stable", members=2, generation=before + 1)
    assert time.monotonic() - held > 0.3


def test_a_wrong_api_is_told_once_and_what_did_not_come_about_in_words(control: Control) -> None:
    """`api` stands for `to`: its mistake is one; who waited in vain reads for what, and how things stand."""
    with pytest.raises(ControlError) as wrong:
        control.lose_response("SyncGrop", group="g1")
    assert str(wrong.value).splitlines() == [
        "this step has a mistake: `api`: `SyncGrop` is not an API",
        "    did you mean `SyncGroup`?",
    ]
    with pytest.raises(TimedOut, match=r"group 'g9' did not reach state Stable in time: it has no members yet"):
        control.await_group("g9", state="Stable", timeout="50ms")
    control.await_group("g1", state="Stable", members=2)
    with pytest.raises(TimedOut, match=r"did not reach state Stable, members 7 in time: it is Stable with 2 members"):
        control.await_group("g1", state="Stable", members=7, timeout="50ms")


def test_a_rebalance_can_be_forced(control: Control) -> None:
    """The generation goes up, with the same members."""
    before = control.group("g1")["generation"]
    control.force_rebalance("g1")
    assert control.await_group("g1", state="Stable", members=2, generation=before + 1)["generation"] == before + 1


def test_a_group_that_is_forgotten_begins_anew(control: Control) -> None:
    """Members hear that nobody knows them, and join as the first of generation 1 or 2."""
    ids = {member["member_id"] for member in control.group("g1")["members"]}
    control.forget_group("g1")
    group = control.await_group("g1", state="Stable", members=2)
    assert group["generation"] <= 2
    assert not ids & {member["member_id"] for member in group["members"]}


def test_the_coordinator_moves_and_brokers_come_and_go(control: Control) -> None:
    """A move, a pause and a crash leave a stable group behind."""
    before = control.group("g1")["coordinator"]
    control.move_coordinator("g1")
    assert control.await_group("g1", state="Stable", members=2)["coordinator"] != before
    control.freeze_broker(before)
    assert control.cluster()["brokers"][before]["state"] == "frozen"
    control.thaw_broker(before)
    control.crash_broker(before)
    with pytest.raises(ControlError, match="down already"):
        control.crash_broker(before)
    control.restart_broker(before)


def test_topics_come_grow_and_go(control: Control) -> None:
    """A topic made here has traffic at a rate, and is gone when it is deleted."""
    control.create_topic("events", 2)
    control.produce("events", "100/s")
    control.burst("events", 10)
    assert "events" in [topic["name"] for topic in control.cluster()["topics"]]
    control.delete_topic("events")
    assert "events" not in [topic["name"] for topic in control.cluster()["topics"]]


@pytest.mark.parametrize(
    ("body", "pointer", "remedy"),
    [
        ({"fault": "answer-eror"}, "/fault", "did you mean `answer-error`?"),
        ({"fault": "stall", "member": "c-1", "fro": "1s", "for": "1s"}, "/fro", "did you mean `for`?"),
        (
            {"fault": "answer-error", "api": "SyncGroup", "is": "NONE", "clientid": "x"},
            "/clientid",
            "did you mean `client-id`?",
        ),
        ({"fault": "answer-error", "to": "next SyncGruop of x", "is": "NONE"}, "/to", "did you mean `SyncGroup`?"),
        ({"fault": "stall", "member": "c-1", "for": 3}, "/for", None),
        ({"fault": "stall", "member": "c-1", "for": "1s", "at": "3s"}, "/at", "a step here runs now"),
        ({"fault": "crash-broker", "broker": 1}, "/fault", 'send {"do": "crash-broker"} to /actions'),
        ({"do": "crash-broker", "broker": 1}, "", "send it to /actions"),
    ],
)
def test_a_wrong_step_is_told_key_by_key(
    control: Control, body: dict[str, object], pointer: str, remedy: str | None
) -> None:
    """The problem names the key by its JSON pointer, and what is nearest to it."""
    name = {"data": json.dumps(body).encode(), "method": "POST"}
    with pytest.raises(HTTPError) as caught:
        urlopen(Request(control.url + "/faults", **name), timeout=60)  # type: ignore[arg-type]
    problem = json.loads(caught.value.read())
    schema("Problem").validate(problem)
    assert caught.value.code == 422
    assert problem["errors"][0]["pointer"] == pointer
    assert remedy is None or problem["remedy"] == remedy


def test_names_that_nothing_has_are_refused(control: Control) -> None:
    """A topic, a broker and a member that are not there; nothing has happened then."""
    for action, said in (
        ("delete-topic", {"topic": "ordres"}),
        ("stop-broker", {"broker": 9}),
        ("stop", {"member": "x"}),
    ):
        with pytest.raises(ControlError) as caught:
            control.do(action, **said)
        assert caught.value.status == 422


def test_an_action_that_is_refused_says_so_in_the_trace(control: Control) -> None:
    """What was asked is told, and after it that it was not done, and why; the asker hears the same."""
    with pytest.raises(ControlError, match="broker 1 is running"):
        control.do("restart-broker", broker=1)
    action, refused = control.trace(last=2, kinds=["action", "action.refused"])
    assert (action["kind"], refused["kind"], refused["cause"]) == ("action", "action.refused", action["seq"])
    assert refused["payload"] == {"action": action["reason"]}
    assert refused["reason"].startswith("broker 1 is running")


def test_waiting_in_vain_says_how_things_stand(control: Control) -> None:
    """A state that does not come is a TimedOut with the group in it; an unknown group is 404."""
    with pytest.raises(TimedOut, match="Stable with 2 members"):
        control.await_group("g1", members=7, timeout="50ms")
    with pytest.raises(ControlError, match="unknown group 'g2'"):
        control.group("g2")
    with pytest.raises(ControlError, match="unknown group state"):
        control.await_group("g1", state="stable")
    for state in ("Assigning", "Reconciling"):  # of groups of the consumer protocol
        with pytest.raises(TimedOut, match=f"did not reach state {state} in time"):
            control.await_group("g1", state=state, timeout="50ms")


def test_a_web_page_is_not_answered(control: Control) -> None:
    """A Host that is no name of this machine, or an Origin, gets 403: a rebound name, a form of another site."""
    assert fetched(control, "/cluster", Host="evil.example")[0] == 403
    assert fetched(control, "/cluster", Origin="http://evil.example")[0] == 403
    assert fetched(control, "/cluster", Host="localhost:1")[0] == 200


def test_the_trace_is_streamed_as_it_happens(control: Control) -> None:
    """What is kept comes at once; with follow, what happens later comes too, in order."""
    kept = list(control.trace(last=5))
    assert [event["seq"] for event in kept] == sorted(event["seq"] for event in kept)
    stream = control.trace(follow=True, last=0, kinds=["action"])
    control.do("set-rate", topic="orders", rate="0/s")
    for event in stream:
        assert event["kind"] == "action"
        break
    with pytest.raises(ControlError, match="unknown kind of event"):
        list(control.trace(kinds=["acton"]))


def test_a_brokers_port_is_not_the_control_port(served: Served) -> None:
    """Who mixes them up hears so, and the log says that HTTP came."""
    up = next(one for one in served.control.cluster()["brokers"] if one["state"] == "up")
    with pytest.raises(Unreachable, match="it may be a broker's port"):
        Control.connect(f"http://{up['host']}:{up['port']}")
    assert "it begins as HTTP does" in served.log


def test_a_missing_server_is_reported_as_such(tmp_path: Path) -> None:
    """An address without a port behind it, and a ready file that is not there."""
    with pytest.raises(Unreachable, match="no answer from http://127"):
        Control.connect("http://127.0.0.1:9")
    with pytest.raises(Unreachable, match="the cluster writes this file when it is ready"):
        Control.connect(tmp_path / "ready.json")
    (tmp_path / "other.json").write_text("{}", "utf-8")
    with pytest.raises(Unreachable, match="is not a ready file"):
        Control.connect(tmp_path / "other.json")
    with pytest.raises(Unreachable, match="an address is written http://"):
        Control.connect("127.0.0.1:9080")
    with pytest.raises(ValueError, match="is not an address of a control port"):
        Control.connect("https://127.0.0.1:9080")


def test_a_connection_that_asks_nothing_is_closed(control: Control) -> None:
    """Neither one that says nothing nor one that drips a head, byte by byte, is kept."""
    host, port = control.url.removeprefix("http://").split(":")
    silent, dripping = (socket.create_connection((host, int(port)), timeout=60) for _ in range(2))
    with silent, dripping:
        begun = time.monotonic()
        dripped = False
        while time.monotonic() - begun < 60 and not dripped:
            try:
                dripping.sendall(b"G")
            except OSError:
                dripped = True
            time.sleep(0.3)
        assert dripped
        assert silent.recv(100) == b""


def test_a_broker_is_frozen_under_one_name(control: Control) -> None:
    """The action and the fault are called the same; another word is refused, and nothing is done."""
    with pytest.raises(ControlError, match="not known"):
        control.do("pause-broker", broker=0)
    with pytest.raises(ControlError, match="is not frozen"):
        control.thaw_broker(0)
    assert control.fault("freeze-broker", broker=0, **{"for": "50ms"}).id
