"""Regular expressions: a member may subscribe to all topics whose whole name matches one.

Matching every topic may take long, so a broker does it beside the coordinator's thread. A heartbeat only notes the
text, and starts a *resolution*, whose result is another operation: a record for each text, and a bump when the topics
differ. The members get these topics with the heartbeats after it. All members with the same text share one result.

A resolution of all texts of the group is started when some member, or this one now, has a text, none is under way, the
last result is more than ten seconds old, and

    a text is new, or
    not every text of the group is resolved, or
    the broker knows a topic that is newer than the last result (after a load every topic is, if any metadata is), or
    the last result is older than `group.consumer.regex.refresh.interval.ms` (since 4.1, for changes of ACLs).

The ten seconds keep a group of many members that subscribe one after the other from doing it for each.

Source: `GroupMetadataManager.maybeUpdateRegularExpressions`, `handleRegularExpressionsResult`; consumer-protocol
reference, 1.20.
"""

from __future__ import annotations

from collections.abc import Mapping

from groupsim.coordinator.base.consumer_records import EpochRecord, EpochValue, RegexRecord, ResolvedRegex
from groupsim.coordinator.base.effects import CallToken, Resolve
from groupsim.coordinator.base.operation import Operation
from groupsim.coordinator.consumer.assignment.subscriptions import counted
from groupsim.coordinator.consumer.assignment.topics_metadata import topics_metadata
from groupsim.coordinator.consumer.changes import Change, Trigger, WrittenGroup, write
from groupsim.coordinator.consumer.member import ConsumerMember
from groupsim.coordinator.consumer.refused import Refused
from groupsim.coordinator.consumer.state import GroupState
from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.javahash import java_sized_order, java_spread
from groupsim.protocol.patterns import InvalidPattern, compile_pattern

_LEAST_AGE_US = 10_000_000
"""The age of the last result below which no resolution begins (`REGEX_BATCH_REFRESH_MIN_INTERVAL_MS`)."""
_BUCKETS = 16
"""The size of a `HashMap` that was copied from an empty one."""


def update_regex(
    group: WrittenGroup,
    op: Operation,
    call: CallToken,
    before: ConsumerMember,
    after: ConsumerMember,
    change: Change,
) -> bool:
    """Note the text of a heartbeat, and start a resolution if one is due; return whether the group epoch is bumped.

    Raises Refused (INVALID_REGULAR_EXPRESSION) for a text that no other member has and RE2/J cannot read.
    """
    data, old, new = group.data, before.regex, after.regex
    bumps = is_new = False
    if old != new:
        if old and data.regexes.get(old) == 1:
            change.records.append(RegexRecord(group.group_id, old, None))
        if not new:
            bumps = op.differences.empty_regex_bumps
        elif new not in data.regexes:
            _check(new)
            is_new = True
        else:
            bumps = new in data.resolved
    if (is_new or data.regexes) and group.group_id not in op.resolving:
        _maybe_resolve(group, op, call, before, after, is_new=is_new)
    return bumps


def _check(regex: str) -> None:
    try:
        compile_pattern(regex)
    except InvalidPattern as problem:
        text = f"SubscribedTopicRegex `{regex}` is not a valid regular expression: {problem.description}."
        raise Refused(ErrorCode.INVALID_REGULAR_EXPRESSION, text) from problem


def _maybe_resolve(
    group: WrittenGroup, op: Operation, call: CallToken, before: ConsumerMember, after: ConsumerMember, *, is_new: bool
) -> None:
    data = group.data
    last = next((data.resolved[one] for one in data.resolved_order()), None)
    age_us = None if last is None else op.now_us - last.time_us
    if age_us is not None and age_us <= _LEAST_AGE_US:
        return
    texts = data.regexes
    if before.regex != after.regex:
        texts = counted(texts, [before.regex] if before.regex else [], -1)
        texts = counted(texts, [after.regex] if after.regex else [], 1)
    seen = 0 if last is None else last.version
    interval_us = 1_000 * op.config_of(group.group_id).consumer_regex_refresh_interval_ms
    newest = max(op.topics.created_version, op.loaded_version)
    due = is_new or len(texts) != len(data.resolved) or seen < newest
    if texts and (due or age_us is None or age_us > interval_us):
        op.resolving.add(group.group_id)
        op.effects.append(Resolve(call, group.group_id, after.member_id, _result_order(data, before, after, texts)))


def _result_order(
    data: GroupState, before: ConsumerMember, after: ConsumerMember, texts: Mapping[str, int]
) -> tuple[str, ...]:
    """Return the texts in the order of the results, which is that of their records.

    Kafka copies the map of the group, and takes the member's text from the copy and adds it again, also when it stays.
    So a text that no other member has is the first of its bucket. Then two maps are filled that are made for so many
    entries.
    """
    own = after.regex
    others = data.regexes.get(own, 0) - (before.regex == own)
    first = [own] if own and not others else []
    copied = [one for one in data.regex_order() if one in texts and one not in first]
    known = len(data.regexes)
    buckets = 1 << (4 * known // 3).bit_length() if known else _BUCKETS
    order = sorted((*first, *copied), key=lambda one: java_spread(one) & (buckets - 1))
    return tuple(java_sized_order(java_sized_order(order, len(order)), len(order)))


def resolved(group: WrittenGroup, op: Operation, member_id: str, results: Mapping[str, ResolvedRegex]) -> None:
    """Write the results of a resolution; bump the group epoch when the topics of a text differ, or their metadata.

    `results` are in the order of the `Resolve`, `member_id` is the member whose heartbeat started it. A text that no
    member has any more is left out.
    """
    data, change = group.data, Change()
    topics, differ = data.resolved_topics, False
    for regex in results:
        if regex not in data.regexes:
            continue
        new = results[regex]
        known = data.resolved.get(regex)
        old_topics = () if known is None else known.topics
        if old_topics != new.topics:
            differ = True
            topics = counted(counted(topics, old_topics, -1), new.topics, 1)
        change.records.append(RegexRecord(group.group_id, regex, new))
        change.note(Kind.REGEX_RESOLVED, member_id, reason=regex, payload={"topics": list(new.topics)})
    metadata = topics_metadata(data, {*data.names, *topics}, op)
    change.records += metadata.before
    if differ or metadata.differs:
        epoch = data.group_epoch + 1
        change.records.append(EpochRecord(group.group_id, EpochValue(epoch, metadata.hash)))
        payload = {"epoch": epoch, "triggers": [Trigger.REGEX_RESOLVED.value]}
        change.note(Kind.EPOCH_BUMPED, member_id, payload=payload)
        group.soft.bumped(epoch, op.now_us)
    write(group, op, change, member_id, f"Resolved the regular expressions of group {group.group_id}.")
