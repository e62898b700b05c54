"""Pasted settings: Kafka's keys, other libraries' names, secrets, mistakes."""

from __future__ import annotations

import pytest
from attrs import evolve

from groupsim.members.keys import CONSUMER_KEYS
from groupsim.members.profiles import PROFILES
from groupsim.members.settings import SettingError, settings_from

JAVA = PROFILES["java"]
GROUP = {"group.id": "g"}


def resolve(profile="java", **changes):
    """Return settings and notes of a profile with properties; `a__b` stands for `a.b`."""
    properties = GROUP | {key.replace("__", "."): value for key, value in changes.items()}
    return settings_from(PROFILES[profile], properties)


@pytest.mark.parametrize(
    ("profile", "session", "heartbeat", "rebalance", "assignors"),
    [
        ("java-0.9", 30_000, 3_000, -1, ("range",)),
        ("java-0.11", 10_000, 3_000, 300_000, ("range",)),
        ("java-2.8", 10_000, 3_000, 300_000, ("range",)),
        ("java-3.9", 45_000, 3_000, 300_000, ("range", "cooperative-sticky")),
        ("java-4.x", 45_000, 3_000, 300_000, ("range", "cooperative-sticky")),
        ("librdkafka-1.x", 10_000, 3_000, 300_000, ("range", "roundrobin")),
        ("librdkafka-2.x", 45_000, 3_000, 300_000, ("range", "roundrobin")),
        ("sarama", 10_000, 3_000, 60_000, ("range",)),
        ("franz-go", 45_000, 3_000, 60_000, ("cooperative-sticky",)),
        ("kafka-python-1.3", 30_000, 3_000, -1, ("range", "roundrobin")),
        ("kafka-python-2.x", 10_000, 3_000, 300_000, ("range", "roundrobin")),
        ("aiokafka", 10_000, 3_000, 10_000, ("roundrobin",)),
        ("kafkajs", 30_000, 3_000, 60_000, ("roundrobin",)),
        ("brod", 30_000, 5_000, -1, ("roundrobin",)),
    ],
)
def test_defaults_are_the_librarys_own(profile, session, heartbeat, rebalance, assignors):
    """Without properties every library has the defaults of its source."""
    settings, notes = resolve(profile)
    assert notes == ()
    assert (settings.session_timeout_ms, settings.heartbeat_interval_ms) == (session, heartbeat)
    assert (settings.rebalance_timeout_ms, settings.assignors) == (rebalance, assignors)


def test_every_setting_with_an_effect_has_a_type_and_every_other_a_note():
    """Every key of the table has an effect, or a note that explains why not."""
    assert all(key.effect or key.note for key in CONSUMER_KEYS.values())
    assert len(CONSUMER_KEYS) > 120


def test_milliseconds_may_be_written_as_durations():
    """An integer is milliseconds, as in Kafka; text with a unit is a duration."""
    settings, _ = resolve(session__timeout__ms="30s", heartbeat__interval__ms="1000", max__poll__interval__ms=60_000)
    assert (settings.session_timeout_ms, settings.heartbeat_interval_ms) == (30_000, 1_000)
    assert settings.max_poll_interval_ms == 60_000
    assert settings.changed["session.timeout.ms"] == 30_000


def test_java_class_names_are_mapped():
    """partition.assignment.strategy may be pasted with Java class names, as text or list."""
    package = "org.apache.kafka.clients.consumer."
    settings, _ = resolve(
        partition__assignment__strategy=[f"{package}CooperativeStickyAssignor", f"{package}RoundRobinAssignor"]
    )
    assert settings.assignors == ("cooperative-sticky", "roundrobin")


def test_keys_without_effect_are_accepted_with_a_note():
    """A pasted consumer.properties is readable as it is."""
    _, notes = resolve(bootstrap__servers="a:9092,b:9092", fetch__min__bytes=1, key__deserializer="x.Y")
    assert [(note.level, note.key) for note in notes] == [
        ("note", "bootstrap.servers"),
        ("note", "fetch.min.bytes"),
        ("note", "key.deserializer"),
    ]


def test_secrets_are_neither_read_nor_kept():
    """Values of sasl.* and ssl.* are in neither settings nor notes, for known and unknown keys."""
    settings, notes = resolve(sasl__jaas__config="password=hunter2", ssl__key__password="hunter2", sasl__new="hunter2")
    assert len(notes) == 3
    assert "hunter2" not in repr(settings) + repr(notes)


def test_an_unknown_key_warns_with_the_nearest_name():
    """A misspelt key does not end a run, but gets a warning."""
    _, [note] = resolve(session__timout__ms=1)
    assert note.level == "warning"
    assert "did you mean session.timeout.ms?" in note.message


def test_a_librarys_own_names_and_units_are_understood():
    """Settings may have the library's own names; brod's are in seconds."""
    brod, _ = resolve("brod", session_timeout_seconds=10, heartbeat_rate_seconds=2)
    assert (brod.session_timeout_ms, brod.heartbeat_interval_ms) == (10_000, 2_000)
    python, _ = resolve("kafka-python-2.x", session_timeout_ms=20_000)
    assert python.session_timeout_ms == 20_000
    kafkajs, _ = resolve("kafkajs", sessionTimeout=20_000, rebalanceTimeout=40_000)
    assert (kafkajs.session_timeout_ms, kafkajs.rebalance_timeout_ms) == (20_000, 40_000)


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("heartbeat.interval.ms", 45_000, "not below session.timeout.ms = 45000"),
        ("session.timeout.ms", "ten", "not a time"),
        ("session.timeout.ms", -1, "below the least value"),
        ("session.timeout.ms", True, "not a time"),
        ("session.timeout.ms", 2**31, "32-bit"),
        ("session.timeout.ms", "1.5ms", "finer than a millisecond"),
        ("max.poll.records", 0, "below the least value"),
        ("max.poll.records", "many", "not an integer"),
        ("enable.auto.commit", "yes", "neither true nor false"),
        ("auto.offset.reset", "oldest", "use one of latest, earliest, none"),
        ("partition.assignment.strategy", "", "no assignor"),
        ("partition.assignment.strategy", "range,range", "twice"),
        ("group.id", "", "needs a group"),
        ("group.instance.id", "", "empty"),
        ("group.protocol", "streams", "use one of classic, consumer"),
        ("group.protocol", "consumer", "java-3.9 has the classic protocol only"),
    ],
)
def test_impossible_values_are_refused(key, value, words):
    """An impossible value names key, value and remedy."""
    with pytest.raises(SettingError) as caught:
        settings_from(JAVA, GROUP | {key: value})
    assert words in str(caught.value)
    assert caught.value.key == key


def test_settings_without_effect_in_a_library_get_a_note():
    """A poll limit has no effect in a library without one, nor a rebalance timeout in Java."""
    _, notes = resolve("sarama", max__poll__interval__ms=60_000)
    assert [note.key for note in notes] == ["max.poll.interval.ms"]
    settings, notes = resolve("java", rebalance__timeout__ms=60_000)
    assert [note.key for note in notes] == ["rebalance.timeout.ms"]
    assert settings.rebalance_timeout_ms == 300_000


def test_a_heartbeat_interval_above_a_third_of_the_session_warns():
    """A heartbeat interval above a third of the session timeout gets a warning, as Kafka advises."""
    _, [note] = resolve(session__timeout__ms=10_000, heartbeat__interval__ms=4_000)
    assert (note.level, note.key) == ("warning", "heartbeat.interval.ms")


def test_client_ids_look_like_the_librarys():
    """Java's default client id has the group, and a static member's instance id; librdkafka's is rdkafka."""
    assert resolve()[0].client_id == "consumer-g-1"
    assert resolve(group__instance__id="i1")[0].client_id == "consumer-g-i1"
    assert resolve("librdkafka-2.x")[0].client_id == "rdkafka"
    assert resolve(client__id="mine")[0].client_id == "mine"


# --- fetches, where consumers pull --------------------------------------------------------------------------------


def pulling(profile="java", **changes):
    """Return the same for a consumer that pulls."""
    properties = GROUP | {key.replace("__", "."): value for key, value in changes.items()}
    return settings_from(PROFILES[profile], properties, pulls=True)


def test_settings_of_fetches_have_an_effect_where_consumers_pull():
    """Fetch settings get notes on the light cluster, and are parsed where consumers pull."""
    settings, notes = pulling(fetch__min__bytes="1000", isolation__level="read_committed")
    assert (settings.fetch_min_bytes, settings.isolation_level, notes) == (1_000, "read_committed", ())
    settings, notes = resolve(fetch__min__bytes="many")
    assert settings.fetch_min_bytes == 1
    assert [(note.level, note.message) for note in notes] == [("note", CONSUMER_KEYS["fetch.min.bytes"].note)]
    with pytest.raises(SettingError, match=r"isolation\.level"):
        pulling(isolation__level="serializable")


@pytest.mark.parametrize(
    ("profile", "wait_ms", "min_bytes", "most_each", "isolation"),
    [
        ("java-3.9", 500, 1, 1_048_576, "read_uncommitted"),
        ("librdkafka-2.x", 500, 1, 1_048_576, "read_committed"),
        ("sarama", 500, 1, 1_048_576, "read_uncommitted"),
        ("franz-go", 5_000, 1, 1_048_576, "read_uncommitted"),
        ("kafkajs", 5_000, 1, 1_048_576, "read_committed"),
        ("aiokafka", 500, 1, 1_048_576, "read_uncommitted"),
        ("brod", 10_000, 0, 1_048_576, "read_uncommitted"),
    ],
)
def test_defaults_of_fetches_are_the_librarys_own(profile, wait_ms, min_bytes, most_each, isolation):
    """Each library has the fetch defaults of its own documentation."""
    settings, _ = pulling(profile)
    assert (settings.fetch_max_wait_ms, settings.fetch_min_bytes) == (wait_ms, min_bytes)
    assert (settings.max_partition_fetch_bytes, settings.isolation_level) == (most_each, isolation)


def test_a_librarys_own_names_of_fetch_settings_are_known():
    """librdkafka's fetch.wait.max.ms is Kafka's fetch.max.wait.ms, and so on."""
    settings, notes = pulling("librdkafka", fetch__wait__max__ms=100, fetch__message__max__bytes=5_000)
    assert (settings.fetch_max_wait_ms, settings.max_partition_fetch_bytes, notes) == (100, 5_000, ())


@pytest.mark.parametrize(("text", "ms"), [("PT1H", 3_600_000), ("P7D", 604_800_000), ("P1DT2M3.5S", 86_523_500)])
def test_a_reset_by_duration_is_read_in_java_4(text, ms):
    """auto.offset.reset=by_duration:… is an ISO 8601 duration (KIP-1106)."""
    settings, _ = pulling("java-4.x", auto__offset__reset=f"by_duration:{text}")
    assert (settings.auto_offset_reset, settings.reset_duration_ms) == ("by_duration", ms)


@pytest.mark.parametrize(("profile", "value"), [("java-3.9", "PT1H"), ("java-4.x", "1 hour"), ("java-4.x", "PT")])
def test_a_reset_by_duration_that_cannot_be_is_refused(profile, value):
    """Older clients lack this policy, and text that is no duration is refused by name."""
    with pytest.raises(SettingError, match=r"auto\.offset\.reset"):
        pulling(profile, auto__offset__reset=f"by_duration:{value}")


def test_settings_that_differ_in_their_client_id_alone_are_those_of_each(monkeypatch):
    """Settings and notes are equal, whether resolved or taken from another member's."""
    changes = {"session__timeout__ms": "45s", "fetch__min__bytes": 7, "group__instance__id": "i"}
    for profile in ("java", "librdkafka-2.x", "franz-go", "brod"):
        resolve(profile, client__id="first", **changes)
        taken_over, notes = resolve(profile, client__id="second", **changes)
        monkeypatch.setattr("groupsim.members.settings._KEPT", {})
        resolved, notes_of_its_own = resolve(profile, client__id="second", **changes)
        assert taken_over == resolved
        assert list(taken_over.changed.items()) == list(resolved.changed.items())
        assert (taken_over.client_id, notes) == ("second", notes_of_its_own)


def test_settings_of_another_member_are_not_taken_over_where_a_second_name_says_the_client_id():
    """The later of two names for a key counts, for each member."""
    for first in ("a", "b"):
        assert resolve("kafkajs", client__id=first, clientId="a")[0].client_id == "a"


def test_what_is_taken_over_holds_no_secrets(monkeypatch):
    """Secrets do not distinguish members: their values change nothing."""
    kept = {}
    monkeypatch.setattr("groupsim.members.settings._KEPT", kept)
    for number in range(2):
        resolve(client__id=f"c{number}", sasl__jaas__config=f"password=hunter{number}", ssl__new="hunter")
    assert len(kept) == 1
    assert "hunter" not in repr(kept)


def test_settings_taken_over_belong_to_one_library_and_one_way_of_fetching():
    """Settings are not shared between libraries or sources of records with equal properties."""
    fetches = {"group.id": "g", "client.id": "c", "fetch.min.bytes": 7}
    (_, noted), (_, read) = (settings_from(JAVA, fetches, pulls=pulls) for pulls in (False, True))
    assert [note.key for note in noted] == ["fetch.min.bytes"]
    assert read == ()
    namesake = evolve(JAVA, defaults={**JAVA.defaults, "session.timeout.ms": 7_000})
    assert settings_from(JAVA, fetches)[0].session_timeout_ms == 45_000
    assert settings_from(namesake, fetches)[0].session_timeout_ms == 7_000


def test_a_value_that_equals_another_is_not_taken_for_it():
    """1 and true are equal but different values: their results are not shared."""
    assert resolve(client__id="a", enable__auto__commit=True)[0].enable_auto_commit
    with pytest.raises(SettingError, match="neither true nor false"):
        resolve(client__id="b", enable__auto__commit=1)


CONSUMER = {"group.id": "g", "group.protocol": "consumer"}


@pytest.mark.parametrize(
    ("properties", "key", "words"),
    [
        (CONSUMER | {"session.timeout.ms": 10_000}, "session.timeout.ms", "group.consumer.session.timeout.ms"),
        (CONSUMER | {"heartbeat.interval.ms": 1_000}, "heartbeat.interval.ms", "the broker sets the interval"),
        (CONSUMER | {"partition.assignment.strategy": "range"}, "partition.assignment.strategy", "CONSUMER"),
        ({"group.id": "g", "group.remote.assignor": "range"}, "group.remote.assignor", "group.protocol=CLASSIC"),
    ],
)
def test_settings_of_the_other_protocol_are_refused(properties, key, words):
    """A Java client from 4.0 on throws ConfigException for a key of the other group protocol (KIP-848)."""
    with pytest.raises(SettingError) as caught:
        settings_from(PROFILES["java-4.x"], properties)
    assert words in str(caught.value)
    assert caught.value.key == key


def test_a_consumer_of_the_new_protocol_names_an_assignor_of_the_broker():
    """group.remote.assignor is kept for the heartbeats; without it there is no preference."""
    settings, notes = settings_from(PROFILES["java-4.x"], CONSUMER | {"group.remote.assignor": "range"})
    assert (settings.group_protocol, settings.group_remote_assignor, notes) == ("consumer", "range", ())
    settings, _ = settings_from(PROFILES["java-4.x"], {"group.id": "g"})
    assert (settings.group_protocol, settings.group_remote_assignor) == ("classic", None)


def test_an_older_client_notes_the_assignor_of_the_broker():
    """A library without the consumer protocol reads group.remote.assignor without effect."""
    _, notes = settings_from(JAVA, GROUP | {"group.remote.assignor": "range"})
    assert [(note.level, note.key) for note in notes] == [("note", "group.remote.assignor")]
