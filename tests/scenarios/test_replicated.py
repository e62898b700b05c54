"""Scenarios on replicated logs: producers, transactions, settings, files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from groupsim.eventloop.trace.events import Kind
from groupsim.scenarios.language.document import parse_document
from groupsim.scenarios.language.problems import NOTE, WARNING, ScenarioError
from groupsim.scenarios.loading.canonical import canonical_json, scenario_from_json
from groupsim.scenarios.loading.changes import changed, read_change
from groupsim.scenarios.loading.load import load_text, scenario_of
from groupsim.scenarios.loading.python_api import Draft, scenario
from groupsim.scenarios.plans.clusters import is_replicated, replicated_config
from groupsim.scenarios.runtime.runner import Run, run_scenario


def test_brokers_with_logs_are_the_default() -> None:
    """A file, a draft and a canonical text without `logs` have replicated logs: records are events."""
    text = "run-for: 9s\ntopics: {t: {partitions: 1, rate: 5/s}}\ngroups: {g: {members: {c: 1}}}\n"
    assert is_replicated(load_text(text))
    assert is_replicated(scenario("s", run_for="9s").topic("t").group("g", members=1).build())
    assert is_replicated(scenario_from_json(canonical_json(parse_document(text, "f.yaml"), "f")))
    run = run_scenario(load_text(text))
    assert counts(run, Kind.RECORDS_APPENDED, topic="t") > 40
    assert not counts(run_scenario(load_text(text + "cluster: {logs: counted}\n")), Kind.RECORDS_APPENDED)


# --- producers and transactions --------------------------------------------------------------------------------------


def base(**cluster: Any) -> Draft:
    """Two consumers on replicated logs."""
    return (
        scenario("replicated", run_for="30s")
        .broker(**{"group.initial.rebalance.delay.ms": 0})
        .cluster(logs="replicated", **cluster)
        .topic("t", partitions=3, replication=3)
        .group("g", members=2, properties={"auto.offset.reset": "earliest"}, subscribe=["t"])
    )


def counts(run: Run, kind: Kind, *, after_us: int = 0, **columns: Any) -> int:
    """Count the records of events of a kind."""
    return sum(
        (event.payload or {})["count"]
        for event in run.events
        if event.kind is kind
        and event.t_us >= after_us
        and all(getattr(event, name) == value for name, value in columns.items())
    )


def test_what_producers_send_is_delivered() -> None:
    """Rates hold for each process; all records acknowledged early enough are delivered."""
    run = base().producer("shop", "t", rate="50/s", count=2, properties={"acks": "all"}, keys=100).run()
    appended = counts(run, Kind.RECORDS_APPENDED, topic="t")
    assert appended in range(2_950, 3_001)
    assert counts(run, Kind.RECORDS_DELIVERED) >= appended - 10


def test_a_producer_follows_the_scenarios_clock() -> None:
    """It begins late, is killed and restarts, and its rate is that of the scenario's clock."""
    shop = base().producer("shop", "t", rate="10/s", start="5s", steps=[{"at": "10s", "rate": "100/s"}])
    again = shop.at("15s").crash("shop").at("20s").start("shop")
    run = again.run()
    assert counts(run, Kind.RECORDS_APPENDED, topic="t") in range(1_530, 1_560)  # 5 s of 10, 5 s and 10 s of 100
    assert [event.t_us for event in run.events if event.kind is Kind.PROCESS_CRASHED] == [15_000_000]


def test_all_means_the_members() -> None:
    """A pattern may mean producers, `all` does not."""
    shop = base().producer("shop", "t", rate="10/s", count=2)
    crashed = [event.host for event in shop.at("9s").crash("all").run().events if event.kind is Kind.PROCESS_CRASHED]
    assert crashed == ["c-1", "c-2"]
    crashed = [event.host for event in shop.at("9s").crash("shop-*").run().events if event.kind is Kind.PROCESS_CRASHED]
    assert crashed == ["shop-1", "shop-2"]


def test_rates_and_bursts_of_producers() -> None:
    """`set-rate` and `burst` change a producer if they name one, and a restart keeps the rate."""
    shop = base().producer("shop", "t", rate="10/s").at("10s").set_rate("t", rate=0, producer="shop")
    run = shop.at("15s").restart("shop").at("20s").burst("t", records=70, producer="shop").run()
    assert counts(run, Kind.RECORDS_APPENDED, topic="t") == 170


def test_producers_stand_in_line_for_faults() -> None:
    """A link's fault may affect a producer: its records arrive later."""
    shop = base().producer("shop", "t", rate="10/s").at("10s").isolate("shop", for_="5s")
    run = shop.run()
    during = [e for e in run.events if e.kind is Kind.RECORDS_APPENDED and 10_100_000 < e.t_us < 15_000_000]
    assert during == []
    assert counts(run, Kind.RECORDS_APPENDED, topic="t") >= 295


def test_members_produce_what_they_consume_exactly_once() -> None:
    """Inputs and committed outputs are as many, though a member is killed: read_committed readers see each once."""
    draft = (
        base()
        .topic("out", partitions=3, replication=3)
        .topic("t", partitions=3, replication=3, rate="20/s", steps=[{"at": "20s", "rate": 0}])
        .group(
            "g",
            members=2,
            subscribe=["t"],
            produces={"to": "out", "transactional-id": "tx-{n}", "same-partition": True},
            properties={"auto.offset.reset": "earliest", "session.timeout.ms": 6000},
        )
        .group(
            "readers",
            members={"r": 1},
            subscribe=["out"],
            properties={"auto.offset.reset": "earliest", "isolation.level": "read_committed"},
        )
    )
    run = draft.at("10s").crash("c-1").run()
    inputs = counts(run, Kind.RECORDS_APPENDED, topic="t")
    assert inputs > 380
    assert counts(run, Kind.RECORDS_DELIVERED, topic="out") == inputs
    states = [event.to for event in run.events if event.kind is Kind.TRANSACTION_STATE]
    assert states.count("CompleteCommit") > 20


def test_markers_are_no_lost_records() -> None:
    """A reader skips the markers of transactions, and aborted records: neither was lost."""
    reading = {"auto.offset.reset": "earliest", "isolation.level": "read_committed"}
    readers = base().group("g", members=2, properties=reading, subscribe=["t"])
    shop = readers.producer("shop", "t", rate="50/s", transactional_id="tx", commit_every="1s")
    for name in ("lost", "records"):
        shop = shop.expect(name, 0 if name == "lost" else {"skipped": 0, "never-delivered": 0, "aborted": ">= 10"})
    run = shop.at("15.5s").crash("shop").at("16s").start("shop").run()
    assert sum("marker" in (event.payload or {}) for event in run.events if event.topic == "t") >= 30
    assert [str(one) for one in run.failed] == []


@pytest.mark.parametrize(("balance", "loaded_at_s"), [(True, [29, 300]), (False, [29])])
def test_a_coordinator_moves_back_to_the_broker_that_returned(balance: bool, loaded_at_s: list[int]) -> None:
    """The first replica of the group's partition leads it again at the controller's next check; no member rejoins."""
    text = (
        "run-for: 310s\ntopics: {t: {partitions: 2, replication: 3, rate: 1/s}}\ngroups: {g: {members: {c: 2}}}\n"
        f"cluster: {{placement: zookeeper}}\nbroker: {{auto.leader.rebalance.enable: {str(balance).lower()}}}\n"
        "timeline: [{at: 20s, do: crash-broker, broker: coordinator, restart-after: 30s}]\n"
    )
    run = run_scenario(load_text(text))
    loads = [event for event in run.events if event.kind is Kind.GROUP_LOADED]
    assert [event.t_us // 1_000_000 for event in loads] == loaded_at_s
    assert len({event.host for event in loads}) == len(loads)
    assert not [event for event in run.events if event.kind is Kind.MEMBER_REMOVED]


# --- settings --------------------------------------------------------------------------------------------------------

WHOLE = """\
run-for: 20s
cluster: {logs: replicated, placement: zookeeper, broker-session: 6s, append-latency: 2ms}
broker:
  version: "4.4"
  group.max.size: 9
  properties: {min.insync.replicas: 2, replica.lag.time.max.ms: 10000, transaction.max.timeout.ms: 60000}
topics:
  orders: {partitions: 2, replication: 2, replicas: [[0, 1], [1, 2]], properties: {retention.ms: 1000}}
producers:
  shop: {topic: orders, rate: 10/s, properties: "acks=all", record-size: "uniform(10, 20)",
    keys: {count: 9, skew: 1.1, hot: 10%}}
groups:
  g: {members: {c: 1}}
"""


def test_settings_go_to_whoever_goes_by_them() -> None:
    """Coordinator, controller, replicas, logs and transactions each get theirs, from either place in `broker`."""
    config = replicated_config(load_text(WHOLE))
    assert config.coordinator.group_max_size == 9
    assert (config.controller.placement, config.controller.broker_session_timeout_ms) == ("round-robin", 6_000)
    assert (config.controller.min_insync_replicas, config.replica.log.min_insync_replicas) == (2, 2)
    assert config.replica.replica_lag_time_max_ms == 10_000
    assert config.transactions.max_timeout_ms == 60_000


def test_brokers_before_kraft_have_zookeepers_controller() -> None:
    """Sessions of 18 s and the older placement for 2.8, unless the file sets others."""
    old = replicated_config(load_text(WHOLE.replace('"4.4"', '"2.8"').replace("broker-session: 6s, ", "")))
    assert (old.controller.broker_session_timeout_ms, old.controller.eligible_leader_replicas) == (18_000, False)


@pytest.mark.parametrize(
    ("release", "looks_every_ms", "fenced_count", "eligible", "epoch_for_shrink", "looks"),
    [
        ("3.3", 0, False, False, True, "deferred"),
        ("3.6", 0, False, False, False, "deferred"),
        ("3.9", 0, False, False, False, "deferred"),
        ("4.0", 750, True, False, False, "periodic"),
        ("4.1", 750, True, True, False, "periodic"),
        ("4.4", 750, True, True, False, "periodic"),
    ],
)
def test_brokers_with_kraft_have_the_controller_of_their_age(
    release: str, looks_every_ms: int, fenced_count: bool, eligible: bool, epoch_for_shrink: bool, looks: str
) -> None:
    """An incident on 3.9 runs without eligible replicas, and its dead brokers' sessions end at once."""
    made = replicated_config(load_text(WHOLE.replace('"4.4"', f'"{release}"'))).controller
    assert (made.session_check_ms, made.fenced_sessions_count) == (looks_every_ms, fenced_count)
    assert (made.eligible_leader_replicas, made.epoch_for_shrink, made.check_schedule) == (
        eligible,
        epoch_for_shrink,
        looks,
    )


@pytest.mark.parametrize(("release", "commits"), [("2.8", False), ("3.6", False), ("3.7", True), ("4.4", True)])
def test_min_insync_replicas_holds_commits_back_since_3_7(release: str, commits: bool) -> None:
    """KAFKA-15583: before, records of acks=1 were committed with the replicas in sync."""
    assert replicated_config(load_text(WHOLE.replace('"4.4"', f'"{release}"'))).replica.min_isr_commits is commits
    lone = (
        f'run-for: 9s\nbroker: {{version: "{release}", min.insync.replicas: 2}}\n'
        "topics: {t: 1}\ngroups: {g: {members: {c: 1}}}\n"
    )
    words = [note.remedy for note in load_text(lone).notes if "which has 1 replica" in note.message]
    assert [remedy.startswith("it counts as 1 here") for remedy in words] == [commits]


def test_what_has_no_effect_is_noted() -> None:
    """Keys of the other kind of logs are notes at their place, in both directions."""
    notes = [str(note) for note in load_text(WHOLE, "f.yaml").notes if note.severity == NOTE]
    assert any(
        "f.yaml:2" in note and "`append-latency` has no effect here" in note and "`logs: counted`" in note
        for note in notes
    )
    light = WHOLE.replace("logs: replicated", "logs: counted").replace(
        WHOLE[WHOLE.index("producers:") : WHOLE.index("groups:")], ""
    )
    notes = [str(note) for note in load_text(light, "f.yaml").notes if note.severity == NOTE]
    for word in ("placement", "broker-session", "min.insync.replicas", "replicas", "properties"):
        assert any(f"`{word}` has no effect here" in note for note in notes), word


# (replaced text, new text, message, line)
MISTAKES = [
    ("min.insync.replicas: 2", "min.insync.replica: 2", "did you mean min.insync.replicas", 6),
    ("min.insync.replicas: 2", "min.insync.replicas: two", "min.insync.replicas", 6),
    ("placement: zookeeper", "placement: striped-ish", "did you mean `striped`", 2),
    ("retention.ms: 1000", "retention: 1000", "did you mean retention.ms", 8),
    ("retention.ms: 1000", "log.retention.ms: 1000", "a topic's is called retention.ms", 8),
    ("retention.ms: 1000", "retention.ms: soon", "expected a whole number", 8),
    ("[1, 2]]", "[1, 7]]", "there is no broker 7", 8),
    ("[1, 2]]", "[1, 1]]", "two on one broker", 8),
    ("[1, 2]]", "[1]]", "1 replicas instead of 2", 8),
    (", [1, 2]]", "]", "1 lists of replicas for 2 partitions", 8),
    ("topic: orders", "topic: order", "did you mean `orders`", 10),
    ("hot: 10%", "hot: 3", "the share must be a percentage", 11),
    ("skew: 1.1", "skew: steep", "expected a skew from 0", 11),
    ('"uniform(10, 20)"', '"uniform(20, 10)"', "is not a record size", 10),
    ('"uniform(10, 20)"', "10 kB", "expected bytes such as 100", 10),
    ('"acks=all"', "{acks: most}", "acks", 10),
    ('"acks=all"', "{ackss: all}", "did you mean acks", 10),
    ("rate: 10/s", "commit-every: 1s", "needs a transactional producer", 10),
    ("shop:", "c:", "`c` is a member of `g` already", 10),
    ("shop:", "broker-1:", "`broker-1` is a broker already", 10),
    ("logs: replicated", "logs: counted", "counted logs cannot be written to", 10),
    ("logs: replicated", "logs: replicate", "did you mean `replicated`", 2),
    ("g: {", "g: {produces: {to: bills}, ", "there is no topic `bills`", 13),
    ("groups:", "timeline: [{at: 1s, do: stop-broker, broker: 5}]\ngroups:", "there is no broker 5", 12),
    ("groups:", "timeline: [{at: 1s, do: rejoin, member: shop}]\ngroups:", "`shop` is a producer", 12),
    ("groups:", "timeline: [{at: 1s, do: crash, member: shoop}]\ngroups:", "did you mean `shop`", 12),
    ("groups:", "timeline: [{at: 1s, do: move-leader, partition: orders-2, to: 1}]\ngroups:", "no partition 2", 12),
]


@pytest.mark.parametrize(("old", "new", "words", "line"), MISTAKES)
def test_a_mistake_is_told_with_place_and_remedy(old: str, new: str, words: str, line: int) -> None:
    """Every new part of the format is checked before a run."""
    assert old in WHOLE
    with pytest.raises(ScenarioError) as caught:
        load_text(WHOLE.replace(old, new, 1), "f.yaml")
    assert words in str(caught.value)
    assert f"f.yaml:{line}:" in str(caught.value)


def test_the_offsets_topic_can_be_read_only_where_it_has_a_log() -> None:
    """A group may subscribe to `__consumer_offsets` on replicated logs; on counted ones the error has the remedy."""
    text = (
        "run-for: 10s\ncluster: {logs: replicated}\ngroups: {g: {subscribe: [__consumer_offsets], members: {c: 1}}}\n"
    )
    assert load_text(text, "f.yaml").groups["g"].subscribe == ("__consumer_offsets",)
    with pytest.raises(ScenarioError, match=r"f.yaml:3.*\n? *remove `logs: counted` from `cluster`"):
        load_text(text.replace("replicated", "counted"), "f.yaml")


def test_steps_that_need_logs_are_refused_without() -> None:
    """Each error has the remedy."""
    for step in (
        "do: stop-broker, broker: 1",
        "do: isolate-broker, for: 1s",
        "do: crash-broker, broker: 1, machine: true",
    ):
        text = f"run-for: 9s\ntopics: {{t: 1}}\ngroups: {{g: {{members: {{c: 1}}}}}}\ntimeline: [{{at: 1s, {step}}}]\n"
        assert load_text(text).timeline
        with pytest.raises(ScenarioError, match="remove `logs: counted` from `cluster`"):
            load_text(f"{text}cluster: {{logs: counted}}\n")


@pytest.mark.parametrize(
    ("old", "new", "words", "line"),
    [
        ("min.insync.replicas: 2", "min.insync.replicas: 3", "every record is refused", 6),
        ("min.insync.replicas: 2", "log.roll.ms: 9", "", 0),
        ("min.insync.replicas: 2", "unclean.leader.election.enable: true", "acknowledged records can be lost", 6),
        ("retention.ms: 1000", "min.insync.replicas: 3", "every record is refused", 8),
        ("retention.ms: 1000", "retention.ms: 1000", "while one of their brokers is down", 6),
    ],
)
def test_settings_that_lose_or_refuse_records_are_told(old: str, new: str, words: str, line: int) -> None:
    """At the topic's setting, or at the brokers' if the topic has none."""
    notes = [str(note) for note in load_text(WHOLE.replace(old, new), "f.yaml").notes if "`orders`" in note.message]
    assert len(notes) == (1 if words else 0)
    assert all(words in note and f"f.yaml:{line}:" in note for note in notes)


def beside(text: str, place: str) -> list[str]:
    """Return level, message and remedy of the problems at a place."""
    return [str(note).removeprefix(place) for note in load_text(text, "f.yaml").notes if str(note).startswith(place)]


@pytest.mark.parametrize(
    ("size", "properties", "words"),
    [
        ("1000", "{}", None),
        ("5000000", "{}", "5000093 bytes with their batch, more than `max.request.size` (1048576)"),
        ("'uniform(10, 900)'", "{max.request.size: 900}", "the largest records of 991 bytes with their batch"),
        ("1000000", "{max.request.size: 2000000, buffer.memory: 1000000}", "more than `buffer.memory` (1000000)"),
        ("1048570", "{max.request.size: 2000000}", "more than `max.message.bytes` of `orders` (1048588)"),
    ],
)
def test_records_that_are_too_large_are_a_warning(size: str, properties: str, words: str | None) -> None:
    """Records too large for the producer or the topic have a warning at `record-size` with the one that refuses."""
    text = WHOLE.replace('"uniform(10, 20)"', size).replace('"acks=all"', properties)
    found = beside(text, "f.yaml:10:")
    found = [note for note in found if "with their batch" in note]
    assert [words in note and "warning" in note for note in found] == ([True] if words else [])


def test_a_topic_s_own_limit_and_the_brokers_count() -> None:
    """Records are compared with `max.message.bytes` of the topic, else `message.max.bytes` of the brokers."""
    for small in (
        WHOLE.replace("retention.ms: 1000", "max.message.bytes: 80"),
        WHOLE.replace("min.insync.replicas: 2,", "message.max.bytes: 80,"),
    ):
        assert "more than `max.message.bytes` of `orders` (80)" in "".join(beside(small, "f.yaml:10:"))
        assert "max.message.bytes" not in "".join(beside(small, "f.yaml:8:"))  # its own producer sends nothing


def test_an_offsets_topic_of_more_replicas_than_brokers_is_noted() -> None:
    """It is reduced here; Kafka would not create the topic."""
    (note,) = beside(WHOLE.replace("min.insync.replicas: 2", "offsets.topic.replication.factor: 5"), "f.yaml:6:")
    assert "gets 3 replicas here" in note
    assert "note" in note
    assert "INVALID_REPLICATION_FACTOR" in note


def test_commits_that_nobody_can_acknowledge_are_a_warning() -> None:
    """More in-sync replicas are required than the offsets topic has."""
    changed = WHOLE.replace("min.insync.replicas: 2", "min.insync.replicas: 2, offsets.topic.replication.factor: 1")
    (note,) = [note for note in beside(changed, "f.yaml:6:") if "__consumer_offsets" in note]
    assert "is acknowledged (KAFKA-15583)" in note
    assert "warning" in note
    assert not [note for note in beside(WHOLE, "f.yaml:6:") if "__consumer_offsets" in note]


def test_a_producer_that_never_commits_is_a_warning() -> None:
    """No consumer with read_committed would get its records."""
    found = load_text(WHOLE.replace("rate: 10/s", "rate: 10/s, transactional-id: tx"))
    assert any("never commits" in note.message for note in found.notes if note.severity == WARNING)


def test_the_canonical_text_runs_to_the_same_trace() -> None:
    """Settings of brokers, topics and producers are kept, and secrets are not."""
    document = parse_document(WHOLE.replace('"acks=all"', '"acks=all\\nssl.key.password=hunter2"'), "f.yaml")
    text = canonical_json(document, "f")
    assert "hunter2" not in text
    runs = [run_scenario(one, seed=5) for one in (scenario_of(document, "f"), scenario_from_json(text))]
    assert runs[0].events == runs[1].events


@pytest.mark.parametrize(
    ("change", "look"),
    [
        ("producers.shop.rate=20/s", lambda s: s.producers["shop"].rate.per_second == 20),
        ("producers.shop.properties.linger.ms=9", lambda s: s.producers["shop"].properties["linger.ms"] == 9),
        ("producers.shop.keys.skew=0.5", lambda s: s.producers["shop"].keys.skew == "0.5"),
        ("topics.orders.properties.segment.ms=9", lambda s: s.topics["orders"].properties["segment.ms"] == 9),
        ("broker.min.insync.replicas=1", lambda s: s.broker.properties["min.insync.replicas"] == 1),
        ("broker.properties.min.insync.replicas=1", lambda s: s.broker.properties["min.insync.replicas"] == 1),
    ],
)
def test_paths_lead_to_what_is_new(change: str, look: Any) -> None:
    """`--set` and experiments reach producers, settings of topics, and the brokers' settings in both places."""
    document = changed(parse_document(WHOLE, "f.yaml"), [read_change(change)])
    assert look(scenario_of(document, "f"))


# --- files -----------------------------------------------------------------------------------------------------------


def test_logs_in_files_give_the_same_trace(tmp_path: Path) -> None:
    """A run with logs in files equals one with logs in memory, and the files have every record."""
    found = load_text(
        WHOLE + "timeline: [{at: 8s, do: crash-broker, broker: 1}, {at: 15s, do: restart-broker, broker: 1}]\n"
    )
    in_files = run_scenario(found, seed=2, data_dir=tmp_path)
    assert in_files.events == run_scenario(found, seed=2).events
    assert (tmp_path / "broker-1" / "orders-0" / f"{0:020}.log").stat().st_size > 0
