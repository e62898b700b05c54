"""Produce with records that a broker refuses, answered like a real 4.4.0 broker."""

from __future__ import annotations

import struct
import time

from groupsim.protocol.basics import Api
from groupsim.protocol.batch.checksum import crc32c_function
from groupsim.protocol.errors import ErrorCode as E
from tests.helpers.tcp_stage import Client, serving, text

NOW_MS = 1_767_225_600_000
LOG_APPEND_TIME = 8
CONTROL = 32


def batch(attributes: int = 0, *, damaged: bool = False) -> bytes:
    """One record of format v2; `damaged`: with the wrong checksum."""
    record = b"\0\0\0\2k\2v\0"
    head = struct.pack(">hiqqqhii", attributes, 0, NOW_MS, NOW_MS, -1, -1, -1, 1)
    body = head + bytes([2 * len(record)]) + record
    return struct.pack(">qiibI", 0, 9 + len(body), -1, 2, crc32c_function()(body) ^ damaged) + body


def produce(acks: int, parts: dict[int, bytes], topic: str = "orders") -> bytes:
    """The body of Produce 8 for partitions of a topic."""
    data = b"".join(struct.pack(">ii", number, len(records)) + records for number, records in parts.items())
    return text(None) + struct.pack(">hii", acks, 5_000, 1) + text(topic) + struct.pack(">i", len(parts)) + data


def errors(answer: bytes, topic: str = "orders") -> dict[int, E]:
    """Partition → error of a response to Produce 8 that carries no messages but one at most, the last."""
    at = 4 + len(text(topic))
    count = struct.unpack(">i", answer[at : at + 4])[0]
    at += 4
    found = {}
    for _ in range(count):
        number, error, _offset, _time, _start, _records, words = struct.unpack(">ihqqqih", answer[at : at + 36])
        found[number] = E(error)
        at += 36 + max(words, 0)
    return found


def end_of(client: Client, number: int) -> int:
    """The end offset of a partition of `orders`, by ListOffsets 1."""
    body = struct.pack(">ii", -1, 1) + text("orders") + struct.pack(">iiq", 1, number, -1)
    answer = client.ask(Api.LIST_OFFSETS, 1, body)
    return int(struct.unpack(">q", answer[-8:])[0])


def test_what_is_wrong_with_acks_0_closes_the_connection_after_the_rest_was_appended() -> None:
    """A damaged batch beside a good one: the good one is in its log, and the connection is closed."""
    with serving() as stage, stage.client() as witness:
        for appended, bad in enumerate((batch(damaged=True), b""), 1):
            client = stage.client()
            client.send(Api.PRODUCE, 8, produce(0, {0: bad, 1: batch()}))
            assert client.is_closed()
            client.socket.close()
            assert (end_of(witness, 0), end_of(witness, 1)) == (0, appended)


def test_who_leads_is_asked_before_most_of_what_a_batch_can_have() -> None:
    """At a broker that does not lead: NOT_LEADER_OR_FOLLOWER for a damaged batch, INVALID_RECORD for none at all."""
    with serving(brokers=3) as stage:
        leader = stage.do(lambda cluster, _: cluster.controller.image.topics["orders"].partitions[0].leader)
        with stage.client(broker=leader) as there, stage.client(broker=(leader + 1) % 3) as elsewhere:
            damaged, control = produce(1, {0: batch(damaged=True)}), produce(1, {0: batch(CONTROL)})
            assert errors(there.ask(Api.PRODUCE, 8, damaged)) == {0: E.CORRUPT_MESSAGE}
            assert errors(there.ask(Api.PRODUCE, 8, control)) == {0: E.INVALID_RECORD}
            assert errors(elsewhere.ask(Api.PRODUCE, 8, damaged)) == {0: E.NOT_LEADER_OR_FOLLOWER}
            assert errors(elsewhere.ask(Api.PRODUCE, 8, produce(1, {0: b""}))) == {0: E.INVALID_RECORD}
            unknown = produce(1, {7: b"", 8: batch(damaged=True)})
            assert set(errors(there.ask(Api.PRODUCE, 8, unknown)).values()) == {E.UNKNOWN_TOPIC_OR_PARTITION}


def test_log_append_time_is_not_a_producers_to_set() -> None:
    """A topic with CreateTime takes the batch and clears the bit; one with LogAppendTime refuses it."""
    with serving() as stage, stage.client() as client:
        setting = {"message.timestamp.type": "LogAppendTime"}
        stage.do(lambda cluster, _: cluster.create_topic("stamped", 1, replication=1, config=setting))
        deadline = time.monotonic() + 20
        stamped = produce(1, {0: batch(LOG_APPEND_TIME)}, "stamped")
        while (error := errors(client.ask(Api.PRODUCE, 8, stamped), "stamped")[0]) is not E.INVALID_TIMESTAMP:
            assert time.monotonic() < deadline, error
        assert errors(client.ask(Api.PRODUCE, 8, produce(1, {2: batch(LOG_APPEND_TIME)}))) == {2: E.NONE}
        fetch = (
            struct.pack(">iiiibi", -1, 0, 1, 1 << 20, 0, 1) + text("orders") + struct.pack(">iiqi", 1, 2, 0, 1 << 20)
        )
        kept = client.ask(Api.FETCH, 4, fetch)[-len(batch()) :]
        assert kept[21:] == batch()[21:], "the attributes, and all behind them, are those of CreateTime"
