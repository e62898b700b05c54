"""DescribeProducers, ListTransactions, DescribeTransactions.

Sources: `DescribeProducersRequest.json`, `ListTransactionsRequest.json`, `DescribeTransactionsRequest.json`; KIP-664,
KIP-994, KIP-1152.
"""

from __future__ import annotations

from groupsim.protocol.basics import Api, TopicPartition
from groupsim.protocol.messages.operator import (
    ActiveProducer,
    DescribedTransaction,
    DescribeProducersRequest,
    DescribeProducersResponse,
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    ListTransactionsRequest,
    ListTransactionsResponse,
)
from groupsim.protocol.wire.by_topic import Topic, grouped
from groupsim.protocol.wire.exchange import Directory, Exchange
from groupsim.protocol.wire.headers import Header
from groupsim.protocol.wire.serial import Fields
from groupsim.protocol.wire.translation import one


def _producers(fields: Fields, header: Header, directory: Directory) -> Exchange:
    asked = [
        TopicPartition(topic["name"], number) for topic in fields["topics"] for number in topic["partition_indexes"]
    ]
    return one(header, DescribeProducersRequest(tuple(asked), header.version), _encode_producers)


def _encode_producers(answer: DescribeProducersResponse) -> Fields:
    pairs = (
        (
            Topic(found.partition.topic),
            {
                "partition_index": found.partition.partition,
                "error_code": found.error,
                "error_message": found.message,
                "active_producers": [_producer(producer) for producer in found.producers],
            },
        )
        for found in answer.results
    )
    return {"throttle_time": 0, "topics": grouped(pairs, "name", "partitions")}


def _producer(producer: ActiveProducer) -> Fields:
    return {
        "producer_id": producer.producer_id,
        "producer_epoch": producer.epoch,
        "last_sequence": producer.last_sequence,
        "last_timestamp": producer.last_timestamp_ms,
        "coordinator_epoch": producer.coordinator_epoch,
        "current_txn_start_offset": producer.transaction_start,
    }


def _list(fields: Fields, header: Header, directory: Directory) -> Exchange:
    request = ListTransactionsRequest(
        tuple(fields["state_filters"]),
        tuple(fields["producer_id_filters"]),
        fields.get("duration_filter", -1),
        fields.get("transactional_id_pattern"),
        header.version,
    )
    return one(header, request, _encode_listed)


def _encode_listed(answer: ListTransactionsResponse) -> Fields:
    listed = [
        {"transactional_id": name, "producer_id": producer_id, "transaction_state": state}
        for name, producer_id, state in answer.transactions
    ]
    return {
        "throttle_time": 0,
        "error_code": answer.error,
        "unknown_state_filters": answer.unknown_states,
        "transaction_states": listed,
    }


def _describe(fields: Fields, header: Header, directory: Directory) -> Exchange:
    request = DescribeTransactionsRequest(tuple(fields["transactional_ids"]), header.version)
    return one(header, request, _encode_described)


def _encode_described(answer: DescribeTransactionsResponse) -> Fields:
    return {"throttle_time": 0, "transaction_states": [_transaction(one) for one in answer.transactions]}


def _transaction(one: DescribedTransaction) -> Fields:
    topics: dict[str, list[int]] = {}
    for topic, number in one.partitions:
        topics.setdefault(topic, []).append(number)
    return {
        "error_code": one.error,
        "transactional_id": one.transactional_id,
        "transaction_state": one.state,
        "transaction_timeout": one.timeout_ms,
        "transaction_start_time": one.start_ms,
        "producer_id": one.producer_id,
        "producer_epoch": one.producer_epoch,
        "topics": [{"topic": topic, "partitions": numbers} for topic, numbers in topics.items()],
    }


READERS = {
    Api.DESCRIBE_PRODUCERS: _producers,
    Api.LIST_TRANSACTIONS: _list,
    Api.DESCRIBE_TRANSACTIONS: _describe,
}
"""API → the function that makes an exchange from a request's fields."""
