"""What was said in a play, in the form that is compared: per connection, ids under names, sets in order.

Normalised are: throttle times (left out), member ids (`$a` for the first id that connection a was given, `$a2` for the
second, `$?prefix` for one its owner never heard of), producer ids, addresses, topic ids, and the part of groups' and
topics' names that tells two runs apart. Members, topics, partitions and groups are compared as sets. Texts of errors
are compared unless they are listed in `TEXTS`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from attrs import frozen

from tests.conformance.basics import named_in_subscription
from tests.conformance.script import Script

_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_ID = re.compile(rf"^(?P<prefix>.*)-({_UUID}|\d{{13}})$", re.DOTALL)  # 2.3.0 ended static members' ids in milliseconds
_SHORT_ID = re.compile(r"^[0-9A-Za-z_-]{22}$")  # of a consumer group, where the coordinator makes it
_GIVES_IDS = ("JoinGroup", "ConsumerGroupHeartbeat")
_LEFT_OUT = {"throttle_time"}
_ADDRESSES = {"host": "$host", "port": "$port", "node_id": "$node"}
_OF_THE_CLUSTER = ("brokers", "controller_id", "cluster_id", "leader_epoch", "leader_id", "rack")
_REPLICAS = ("replica_nodes", "isr_nodes", "offline_replicas", "eligible_leader_replicas", "last_known_elr")
_LEFT_OUT_OF: dict[str, tuple[str, ...]] = {
    "Metadata": (*_OF_THE_CLUSTER, *_REPLICAS),
    "DescribeCluster": _OF_THE_CLUSTER,
    "Produce": ("log_append_time", "node_endpoints"),
    "Fetch": ("session_id", "node_endpoints"),
    "DescribeTopicPartitions": (*_OF_THE_CLUSTER, *_REPLICAS),
    "DescribeLogDirs": ("log_dir", "total_bytes", "usable_bytes", "partition_size"),
    "DescribeProducers": ("last_timestamp",),
    "DescribeTransactions": ("transaction_start_time", "producer_id"),
}
_COUNTED = ("configs", "records", "producer_id")
_SETS = {
    "members": ("member_id", "group_instance_id"),
    "topics": ("name", "topic_id"),
    "partitions": ("partition_index",),
    "groups": ("group_id",),
    "results": ("group_id", "name"),
    "coordinators": ("key",),
    "responses": ("name", "topic", "topic_id", "resource_name", "resource_type"),
    "config_resources": ("resource_type", "resource_name"),
    "resources": ("resource_type", "resource_name", "pattern_type"),
    "acls": ("principal", "host", "operation", "permission_type"),
    "matching_acls": ("resource_type", "resource_name", "pattern_type", "principal", "operation"),
    "topic_results": ("name",),
    "results_by_topic_v3_and_below": ("name",),
    "results_by_partition": ("partition_index",),
    "partition_responses": ("index",),
    "replica_election_results": ("topic",),
    "partition_result": ("partition_id",),
    "transaction_states": ("transactional_id",),
    "topic_partitions": ("topic_id",),
    "assigned": ("topic_id",),
    "pending": ("topic_id",),
    "target": ("topic_id",),
}
_SETS_BY_HASH = ("members", "topic_partitions", "assigned", "pending", "target")
_ORDERED = {"LeaveGroup"}
_OF_BROKERS = (4, 8)  # types of resources that every play shares
TEXTS: dict[str, str] = {
    "This most likely occurs because of a request being malformed": "INVALID_REQUEST",
    "Request ": "not authorized",
}
"""Error texts of Kafka's that are not repeated here: beginning of the text → what stands in transcripts for it."""


CONSUMER_TABLES = "consumer_"
TOPIC_ID = "topic "
"""Tables of the consumer protocol begin so; and the ids of a topic of theirs, which stand among those of members.

Topics are keys of hash maps there, so the core has to have the same. One that is made again has several ids, with
blanks between."""


@frozen
class Transcript:
    """Per connection what was answered, [api and version, response]; which id stands behind each name."""

    lines: dict[str, list[list[Any]]]
    ids: dict[str, str]


def transcript_of(play: Script) -> Transcript:
    """The transcript of a play that is over."""
    names = _name_ids(play)
    lines: dict[str, list[list[Any]]] = {}
    pids: dict[int, str] = {}
    for step in play.steps:
        said = step.response
        if isinstance(said, dict):
            said = _normal(_own(play, step.api, said), play, names, step.api, pids)
        lines.setdefault(step.actor, []).append([f"{step.api} {step.version}", said])
    ids = {name: raw for raw, name in names.items()}
    if play.case.table.startswith(CONSUMER_TABLES):
        for _, one in play.topics_made:
            ids.setdefault(f"{TOPIC_ID}{_without_nonce(one.name, play)}", "")
            ids[f"{TOPIC_ID}{_without_nonce(one.name, play)}"] += f" {one.topic_id}"
    return Transcript(lines, ids)


def _name_ids(play: Script) -> dict[str, str]:
    """Every member id of the play → its name."""
    names: dict[str, str] = {}
    given: dict[str, int] = {}
    for step in play.steps:
        said = step.response
        told = said["member_id"] if step.api in _GIVES_IDS and isinstance(said, dict) else ""
        if told and (_ID.match(told) or _SHORT_ID.match(told)) and told not in names:
            count = given[step.actor] = given.get(step.actor, 0) + 1
            names[told] = f"${step.actor}{count if count > 1 else ''}"
    for step in play.steps:
        for text in _texts(step.response):
            match = _ID.match(text)
            if match and text not in names:
                prefix = match["prefix"]
                count = given["?" + prefix] = given.get("?" + prefix, 0) + 1
                names[text] = f"$?{prefix}{count if count > 1 else ''}"
    return names


def _texts(value: object) -> list[str]:
    if isinstance(value, Mapping):
        return [text for item in value.values() for text in _texts(item)]
    if isinstance(value, list):
        return [text for item in value for text in _texts(item)]
    return [value] if isinstance(value, str) else []


def _own(play: Script, api: str, said: dict[str, Any]) -> dict[str, Any]:
    """A list of groups or of topics without those of other plays, and topics of the cluster itself."""
    if api == "ListGroups":
        said = {**said, "groups": [group for group in said["groups"] if _is_own(play, group["group_id"])]}
    elif api == "Metadata":
        said = {**said, "topics": [one for one in said["topics"] if one["name"] is None or _is_own(play, one["name"])]}
    elif api == "ListConfigResources":
        there = [one for one in said["config_resources"] if one["resource_type"] in _OF_BROKERS]
        own = [one for one in said["config_resources"] if _is_own(play, one["resource_name"])]
        said = {**said, "config_resources": [*there, *own]}
    return said


def _is_own(play: Script, name: str) -> bool:
    rest = name.removesuffix(play.nonce).removeprefix(play.id)
    return name.startswith(play.id) and name.endswith(play.nonce) and (not rest or rest.startswith("."))


def _normal(value: Any, play: Script, names: Mapping[str, str], api: str, pids: dict[int, str], at: str = "") -> Any:
    if isinstance(value, dict):
        return {
            name: _named(name, item, pids)
            if name in _ADDRESSES and "principal" not in value  # the host of an ACL is none
            else _counted(name, item, pids)
            if name in _COUNTED or (name, api) == ("topic_id", "CreateTopics")
            else _normal(item, play, names, api, pids, name)
            for name, item in value.items()
            if name not in _LEFT_OUT and name not in _LEFT_OUT_OF.get(api, ())
        }
    if isinstance(value, list):
        return [_normal(item, play, names, api, pids) for item in value]
    if isinstance(value, str):
        return _text(value, play, names, at)
    return value


def _counted(name: str, value: Any, pids: dict[int, str]) -> Any:
    """Who a producer is, but not its id; of settings, records and new topics' ids whether there are any."""
    if name == "producer_id":
        return _named(name, value, pids)
    return value and bool(value)


def _named(name: str, value: Any, pids: dict[int, str]) -> Any:
    if name == "producer_id":
        return value if value < 0 else pids.setdefault(value, f"$pid{len(pids) + 1}")
    return value if value in (-1, "", None) else _ADDRESSES[name]


def _text(text: str, play: Script, names: Mapping[str, str], at: str) -> str:
    if text in names:
        return names[text]
    made: dict[str, int] = {}
    for suffix, topic in play.topics_made:
        count = made[suffix] = made.get(suffix, 0) + 1
        if text == topic.topic_id:
            return f"$t{suffix}" if count == 1 else f"$t{suffix}, made again"
    for beginning, stands_for in TEXTS.items():
        if at == "error_message" and text.startswith(beginning):
            return stands_for
    for raw, name in names.items():
        text = text.replace(raw, name)
    text = text.replace(play.away, "$away")
    return _without_nonce(text, play) if play.nonce else text


def _without_nonce(text: str, play: Script) -> str:
    if text.startswith("0x"):  # bytes that are no text
        return "0x" + _bytes_without_nonce(bytes.fromhex(text[2:]), play).hex()
    for topic in play.topics.values():
        plain = named_in_subscription(topic.name.replace(play.nonce, ""))
        text = text.replace(named_in_subscription(topic.name), plain)
    return text.replace(play.nonce, "")


def _bytes_without_nonce(data: bytes, play: Script) -> bytes:
    for topic in play.topics.values():
        name, plain = topic.name.encode(), topic.name.replace(play.nonce, "").encode()
        data = data.replace(len(name).to_bytes(2, "big") + name, len(plain).to_bytes(2, "big") + plain)
    return data


def differences(expected: Transcript, got: Transcript, *, members_in_order: bool = False) -> list[str]:
    """Where two transcripts differ, in words; empty when they say the same.

    The order of members follows from their ids by way of Java's hash maps: `members_in_order` where both had the same.
    """
    found = []
    for line in dict.fromkeys([*expected.lines, *got.lines]):
        there = [_as_sets(said, members_in_order) for said in expected.lines.get(line, [])]
        here = [_as_sets(said, members_in_order) for said in got.lines.get(line, [])]
        for number in range(max(len(there), len(here))):
            one = there[number] if number < len(there) else None
            other = here[number] if number < len(here) else None
            if one != other:
                found.append(f"{line}, request {number + 1}: {_parts(one, other)}")
    return found


def _as_sets(said: list[Any], members_in_order: bool) -> list[Any]:
    what, response = said
    if what.split()[0] in _ORDERED:
        return said
    return [what, _sorted(response, {name for name in _SETS if name not in _SETS_BY_HASH or not members_in_order})]


def _sorted(value: Any, sets: set[str], at: str = "") -> Any:
    if isinstance(value, dict):
        return {name: _sorted(item, sets, name) for name, item in value.items()}
    if not isinstance(value, list):
        return value
    items = [_sorted(item, sets) for item in value]
    if at in sets:
        items.sort(key=lambda item: [str(item.get(key)) for key in _SETS[at]] if isinstance(item, dict) else [item])
    return items


def _parts(one: Any, other: Any) -> str:
    if one and other and one[0] == other[0]:
        return f"{one[0]}: {'; '.join(_apart(one[1], other[1]))}"
    return f"{_json(one)} there, {_json(other)} here"


def _apart(one: Any, other: Any, at: str = "") -> list[str]:
    """The innermost parts that differ, each with the way to it."""
    if isinstance(one, dict) and isinstance(other, dict):
        names = [name for name in dict.fromkeys([*one, *other]) if one.get(name) != other.get(name)]
        return [part for name in names for part in _apart(one.get(name), other.get(name), f"{at}.{name}".lstrip("."))]
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        pairs = [(number, pair) for number, pair in enumerate(zip(one, other, strict=True)) if pair[0] != pair[1]]
        return [part for number, pair in pairs for part in _apart(*pair, f"{at}[{number}]")]
    return [f"{at} {_json(one)} there, {_json(other)} here".strip()]


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
