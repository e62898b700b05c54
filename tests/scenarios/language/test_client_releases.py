"""Client releases: the profile that runs one, its defects, and the releases that are refused."""

from __future__ import annotations

import pytest

from groupsim import Simulation
from groupsim.logs import files as logs
from groupsim.members.profiles import PROFILES
from groupsim.members.profiles.defects import CLIENT_DEFECTS, Defect, client_defect
from groupsim.members.profiles.profile import ClientProfile
from groupsim.protocol.messages.group import Api
from groupsim.scenarios.language.clients import profile_note, simulated
from groupsim.scenarios.language.problems import ScenarioError
from groupsim.scenarios.language.releases import RELEASES, Coverage
from groupsim.scenarios.loading.load import load_text
from groupsim.scenarios.plans.members import plans
from groupsim.scenarios.runtime.runner import run_scenario


def scenario(client: str, more: str = "") -> str:
    """A small scenario with members of one client."""
    return f"""
run-for: 30s
topics: {{orders: 4}}
groups:
  billing: {{client: {client}, members: {{a: 1, b: {{client: {client}}}}}{more}}}
"""


def notes(client: str) -> list[str]:
    """Return the loader's notes on a scenario with this client."""
    return [note.message for note in load_text(scenario(client)).notes]


@pytest.mark.parametrize(
    ("name", "profile"),
    [
        ("sarama-1.20", "sarama-1.33"),
        ("sarama-1.43", "sarama"),
        ("java-2.0.1", "java-2.0"),
        ("java-2.2.2", "java-2.2"),
        ("java-2.3.1", "java-2.3"),
        ("java-2.5", "java-2.4"),
        ("kafka-python-1.4.6", "kafka-python-1.4"),
        ("kafka-python-1.4.7", "kafka-python-2.x"),
        ("java-4.0.2", "java-4.0"),
    ],
)
def test_a_release_runs_as_the_profile_that_covers_it(name: str, profile: str) -> None:
    """Releases that a later profile used to run have a profile of their own."""
    assert simulated(name).name == profile
    assert simulated(name).release == name


def test_a_release_that_no_profile_covers_is_said_once() -> None:
    """It runs as the nearest similar profile, with one note for all members of that release."""
    assert notes("java-2.7.2") == [
        "`client`: no profile covers java-2.7.2, it runs as `java-2.8` with KAFKA-10870, KAFKA-12984: "
        "it heartbeats while syncing, as 2.8 does (KAFKA-10134)"
    ]
    assert len(notes("sarama-1.20")) == 1


@pytest.mark.parametrize(
    ("name", "why", "nearest"),
    [
        ("sarama-1.18", "consumer groups came with sarama 1.19", "sarama-1.33"),
        ("aiokafka-0.6", "aiokafka 747", "aiokafka"),
        ("kafkajs-1.12", "kafkajs 874", "kafkajs"),
        ("librdkafka-0.11", "max.poll.interval.ms", "librdkafka-1.x"),
    ],
)
def test_a_release_that_is_known_to_differ_is_refused(name: str, why: str, nearest: str) -> None:
    """The error states the difference, and names the nearest profile."""
    with pytest.raises(ScenarioError) as refused:
        load_text(scenario(name))
    assert why in str(refused.value)
    assert f"nearest: `{nearest}`" in str(refused.value)


def test_every_row_of_the_releases_names_a_profile_and_says_why() -> None:
    """Rows ascend, their profiles exist, and each row that is not COVERED has a reason."""
    for library, rows in RELEASES.items():
        assert [row.version for row in rows] == sorted(row.version for row in rows), library
        assert all(row.profile in PROFILES for row in rows)
        assert all(bool(row.why) is (row.how is not Coverage.COVERED) for row in rows)


@pytest.mark.sim
async def test_a_process_starts_under_the_release_that_was_asked_for(sim: Simulation) -> None:
    """`process.started` names the release beside the profile; a profile by its own name needs none."""
    sim.topic("orders", 2)
    sim.member("a", client="java-4.0.2")
    sim.member("b", client="java-3.9")
    payloads = {event.host: event.payload or {} for event in sim.find("process.started")}
    assert (payloads["a"]["profile"], payloads["a"]["release"]) == ("java-4.0", "java-4.0.2")
    assert "release" not in payloads["b"]


# --- defects -----------------------------------------------------------------------------------------------------

SHOWN = [
    ("KAFKA-3117", "java-0.9.0", "java-0.10.0"),
    ("KAFKA-5154", "java-0.10.2", "java-0.11.0"),
    ("KAFKA-6362", "java-1.0.2", "java-1.1.0"),
    ("KAFKA-7126", "java-2.0.0", "java-2.0.1"),
    ("KAFKA-7961", "java-2.2.2", "java-2.3.0"),
    ("KAFKA-8487", "java-2.3.1", "java-2.4.0"),
    ("KAFKA-10870", "java-2.7.2", "java-2.8.0"),
    ("KAFKA-12983", "java-2.8.0", "java-2.8.1"),
    ("KAFKA-12984", "java-2.8.0", "java-2.8.1"),
    ("KAFKA-13214", "java-2.7.1", "java-2.7.2"),
    ("KAFKA-13419", "java-3.1.2", "java-3.2.0"),
    ("KAFKA-13891", "java-3.3.1", "java-3.3.2"),
    ("KAFKA-14024", "java-3.2.0", "java-3.2.1"),
    ("KAFKA-14196", "java-3.2.2", "java-3.2.3"),
    ("KAFKA-20778", "java-4.3.1", "java-4.4"),
    ("franz-go-dcfcacb5", "franz-go-1.9.1", "franz-go-1.10.0"),
    ("kafkajs-1361", "kafkajs-2.0.0", "kafkajs-2.0.1"),
    ("librdkafka-3818", "librdkafka-1.8.2", "librdkafka-1.9.0"),
    ("sarama-1462", "sarama-1.24.0", "sarama-1.24.1"),
    ("sarama-1608", "sarama-1.31.0", "sarama-1.31.1"),
]


def has(profile: ClientProfile, name: str) -> bool:
    """Whether a profile has a defect."""
    defect = client_defect(name)
    rows = [(api, error, does) for api, table in defect.reactions.items() for error, does in table.items()]
    reacts = bool(rows) and all(profile.reaction(api, error) is does for api, error, does in rows)
    return reacts or name in profile.defects


@pytest.mark.parametrize(("name", "bad", "good"), SHOWN, ids=[row[0] for row in SHOWN])
def test_a_release_has_its_defects(name: str, bad: str, good: str) -> None:
    """The last release with a defect has it, the first one without has not, and by name any client has it."""
    assert has(simulated(bad), name)
    assert not has(simulated(good), name)
    assert has(simulated(good, (name,)), name)


@pytest.mark.parametrize(
    ("profile", "names"),
    [
        ("java-0.9", ["KAFKA-3117", "KAFKA-5154", "KAFKA-6362", "KAFKA-7126", "KAFKA-7961", "KAFKA-10870"]),
        ("java-0.11", ["KAFKA-6362", "KAFKA-7126", "KAFKA-7961", "KAFKA-8487", "KAFKA-10870", "KAFKA-13419"]),
        ("librdkafka-1.x", ["librdkafka-3818"]),
        ("sarama-1.33", []),
    ],
)
def test_a_profile_of_an_age_has_the_defects_of_its_release(profile: str, names: list[str]) -> None:
    """A profile by its own name is the last release of its line, with the defects of that release."""
    library = profile.rsplit("-", 1)[0]
    rows = [row[0] for row in SHOWN if row[0] != "KAFKA-20778"]  # a matter of racks, which they do not send
    own = [name for name in rows if client_defect(name).affected[0].library == library]
    assert [name for name in own if has(PROFILES[profile], name)] == names


def test_every_defect_of_clients_is_looked_at() -> None:
    """Every row has its releases above; `tests/regressions` and the tests below show the effect of each."""
    assert sorted(CLIENT_DEFECTS) == sorted(row[0] for row in SHOWN)


def test_a_defect_is_added_by_name_to_a_member() -> None:
    """`defects` of a group hold for its members; a member's own replace them."""
    found = load_text(scenario("java-3.9", ", defects: [KAFKA-12983]"))
    assert all(Defect.KAFKA_12983 in plan.profile.defects for plan in plans(found))
    assert "KAFKA-12983" not in (profile_note("java-2.8.1") or "")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (scenario("java", ", defects: [KAFKA-12938]"), "unknown defect `KAFKA-12938` of a client did you mean"),
        (scenario("java", ", defects: [KAFKA-9752]"), "is not a defect of a client write it under `broker`"),
        (
            scenario("java") + "broker: {defects: [KAFKA-12983]}",
            "is not a defect of a broker write it on a group or member",
        ),
    ],
)
def test_a_defect_in_the_wrong_place_is_refused_with_the_right_one(text: str, words: str) -> None:
    """An unknown name gets the nearest one as remedy, one of another component its place."""
    with pytest.raises(ScenarioError) as refused:
        load_text(text)
    assert words in " ".join(str(refused.value).split())


@pytest.mark.sim(brokers=3)
@pytest.mark.parametrize(("client", "left"), [("java-2.8.0", True), ("java-2.8.1", False)])
async def test_kafka_13214_a_lost_coordinator_costs_the_member_id(sim: Simulation, client: str, left: bool) -> None:
    """A JoinGroup waits when the coordinator moves: with 2.8.0 the member comes back without its id."""
    sim.topic("orders", 2)
    sim.member("slow", on_revoked="20s", assignors=["range"])
    member = sim.member("c1", client=client, assignors=["range"])
    await sim.settled(members=2)
    before = member.member_id
    sim.member("c2", assignors=["range"])
    await sim.until(lambda: sim.state() == "PreparingRebalance")
    await sim.run_for("5s")
    sim.move_coordinator()
    await sim.settled(members=3, within="90s")
    assert (member.member_id != before) is left


@pytest.mark.sim
@pytest.mark.parametrize(("client", "chosen"), [("librdkafka-1.8.2", "range"), ("librdkafka-1.9.0", "roundrobin")])
async def test_librdkafka_3818_the_order_of_assignors(sim: Simulation, client: str, chosen: str) -> None:
    """Members prefer roundrobin to range: up to 1.8 they are sent in the other order."""
    sim.topic("orders", 2)
    sim.member("c1", client=client, assignors=["roundrobin", "range"])
    await sim.settled(members=1)
    assert sim.group("g1").protocol == chosen


@pytest.mark.sim
@pytest.mark.parametrize(("client", "owned"), [("sarama-1.24.0", 2), ("sarama-1.24.1", 4)])
async def test_sarama_1462_a_topic_grows(sim: Simulation, client: str, owned: int) -> None:
    """Up to 1.24.0 new partitions of a topic have no owner."""
    sim.topic("orders", 2)
    sim.member("c1", client=client, properties={"metadata.max.age.ms": 10_000})
    await sim.settled(members=1)
    sim.cluster.add_partitions("orders", 4)
    await sim.run_for("60s")
    assert len(sim.members["c1"].assignment) == owned


def test_logs_have_the_words_of_the_release() -> None:
    """The log of a java-4.0 has the coordinator line of 4.0, not that of the newest release."""
    run = run_scenario(load_text(scenario("java-4.0")), seed=0)
    (line, *_) = [line for line in logs.render(run.events)["a.log"] if "Discovered group coordinator" in line]
    assert "rack: null isFenced: false)" in line
    assert "(id: 2147483" in line


def test_versions_follow_the_release() -> None:
    """Java 2.0 joins without the handshake, 2.2 with it, 2.3 with an instance."""
    joins = [simulated(f"java-{release}").versions[Api.JOIN_GROUP] for release in ("2.0.1", "2.2.2", "2.3.1", "2.5.1")]
    assert joins == [3, 4, 5, 6]
