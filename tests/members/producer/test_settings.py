"""A producer's properties, the partition of a key, sizes and loads."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from groupsim.members.producer.load import Keys, Load, Sizes, zipf
from groupsim.members.producer.partitioners import murmur2, partition_for_key, to_positive
from groupsim.members.producer.settings import producer_settings_from
from groupsim.members.producer.sizes import batch_bytes, capacity
from groupsim.members.settings import SettingError
from groupsim.protocol.batch.sizes import counted_size

# from Kafka's UtilsTest.testMurmur2
_MURMUR2 = {
    b"21": -973932308,
    b"foobar": -790332482,
    b"a-little-bit-long-string": -985981536,
    b"a-little-bit-longer-string": -1486304829,
    b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    b"abc": 479470107,
}


@pytest.mark.parametrize("key", _MURMUR2)
def test_murmur2_is_kafkas(key: bytes) -> None:
    """murmur2 gives the hashes of Kafka's own test vectors."""
    assert murmur2(key) == _MURMUR2[key]
    assert partition_for_key(key, 12) == (_MURMUR2[key] & 0x7FFFFFFF) % 12


def test_to_positive_clears_the_sign_bit() -> None:
    """toPositive is not the absolute value: -1 becomes the largest int."""
    assert to_positive(-1) == 2**31 - 1
    assert to_positive(-(2**31)) == 0


def test_defaults_follow_the_release() -> None:
    """linger.ms is 5 since 4.0; acks=all with idempotence since 3.0."""
    today, _ = producer_settings_from({})
    before_4, _ = producer_settings_from({}, client_release="3.9.0")
    before_3, _ = producer_settings_from({}, client_release="2.8.1")
    assert (today.linger_ms, today.acks, today.idempotence) == (5, -1, True)
    assert (before_4.linger_ms, before_4.acks, before_4.idempotence) == (0, -1, True)
    assert (before_3.linger_ms, before_3.acks, before_3.idempotence) == (0, 1, False)


def test_a_pasted_file_is_read_as_it_is() -> None:
    """Keys without effect get a note, secrets are not stored, a misspelt key gets the nearest name."""
    settings, notes = producer_settings_from(
        {
            "bootstrap.servers": "b:9092",
            "sasl.jaas.config": "secret",
            "linger.msec": 3,
            "linger.ms": "20ms",
            "buffer.memory": 8_589_934_592,
            "acks": "-1",
        }
    )
    assert (settings.linger_ms, settings.buffer_memory, settings.acks) == (20, 8_589_934_592, -1)
    by_key = {note.key: (note.level, note.message) for note in notes}
    assert by_key["linger.msec"] == (
        "warning",
        "linger.msec is no producer setting known to Kafka; did you mean linger.ms?",
    )
    assert by_key["bootstrap.servers"][0] == "note"
    assert "secret" not in str(notes) + str(settings)


@pytest.mark.parametrize(
    ("properties", "key"),
    [
        ({"acks": "2"}, "acks"),
        ({"linger.ms": -1}, "linger.ms"),
        ({"enable.idempotence": True, "acks": "1"}, "acks"),
        ({"enable.idempotence": "true", "retries": 0}, "retries"),
        ({"transactional.id": "x", "acks": "0"}, "acks"),
        ({"transactional.id": "x", "enable.idempotence": False}, "enable.idempotence"),
        (
            {"enable.idempotence": True, "max.in.flight.requests.per.connection": 6},
            "max.in.flight.requests.per.connection",
        ),
        ({"delivery.timeout.ms": 30_000}, "delivery.timeout.ms"),
        ({"partitioner.class": "com.acme.Mine"}, "partitioner.class"),
        ({"batch.size": "many"}, "batch.size"),
        ({"transactional.id": ""}, "transactional.id"),
    ],
)
def test_impossible_settings_are_refused(properties: dict[str, object], key: str) -> None:
    """The error names the key to change."""
    with pytest.raises(SettingError) as caught:
        producer_settings_from(properties)
    assert caught.value.key == key


def test_idempotence_by_default_gives_way_with_a_warning() -> None:
    """acks=1 without enable.idempotence switches idempotence off, with a warning."""
    settings, notes = producer_settings_from({"acks": "1"})
    assert not settings.idempotence
    assert [(note.level, note.key) for note in notes] == [("warning", "acks")]


def test_a_large_linger_raises_the_delivery_timeout() -> None:
    """A default delivery.timeout.ms is raised to linger.ms + request.timeout.ms."""
    settings, notes = producer_settings_from({"linger.ms": 200_000})
    assert settings.delivery_timeout_ms == 230_000
    assert notes[0].key == "delivery.timeout.ms"


@pytest.mark.parametrize("value", [0, 1, 50, 63, 100, 8_000])
@pytest.mark.parametrize("count", [1, 63, 64, 65, 9_000])
def test_sizes_agree_with_the_codecs(count: int, value: int) -> None:
    """The size of equal records equals that of the batch codec."""
    assert batch_bytes(count, -1, value) == counted_size(count, value)


@pytest.mark.parametrize("value", [0, 100, 5_000, 50_000])
def test_capacity_is_what_fits(value: int) -> None:
    """A batch has as many records as batch.size allows, and at least one."""
    fits = capacity(16_384, -1, value)
    assert batch_bytes(fits + 1, -1, value) > 16_384
    assert fits == 1 or batch_bytes(fits, -1, value) <= 16_384


def test_zipf_is_exact_integers() -> None:
    """Weights fall as 1 / rank^s; exponent 0 makes them equal."""
    sums = zipf(4, "1")
    weights = [sums[0], *(after - before for before, after in pairwise(sums))]
    assert weights == [10**12, 5 * 10**11, 333_333_333_333, 25 * 10**10]
    assert zipf(3, "0") == (10**12, 2 * 10**12, 3 * 10**12)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Keys(0),
        lambda: Keys(2, weights=(1,)),
        lambda: Keys(2, weights=(0, 0)),
        lambda: Keys(1, hot_ppm=1_000_001),
        lambda: Sizes(5, 4),
        lambda: Load("t", -1),
        lambda: Load("t", 1, tombstones_ppm=5),
        lambda: zipf(3, "-1"),
    ],
)
def test_impossible_loads_are_refused(make: Any) -> None:
    """An impossible load is refused when it is made."""
    with pytest.raises(ValueError, match=r"\d|tombstones"):
        make()
