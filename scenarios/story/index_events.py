"""One pass over the trace: each event goes to the reader of its kind, which updates the facts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.protocol.messages.group import Api
from groupsim.scenarios.story.facts import Facts, GroupFacts, Round, Stretch
from groupsim.scenarios.story.lineage import NO_CAUSE
from groupsim.scenarios.story.rebalances import epoch_rounds
from groupsim.scenarios.story.rebalances.conversions import converted
from groupsim.scenarios.story.rebalances.copies import as_loaded
from groupsim.scenarios.story.rebalances.hindrances import is_timed_out, is_unstable_offset
from groupsim.scenarios.story.rebalances.rollouts import rollout_ended, settle
from groupsim.scenarios.story.rebalances.silence import UNRELEASED
from groupsim.scenarios.story.rebalances.zookeeper_rounds import member_state, process_ended
from groupsim.scenarios.story.records.accounts import sum_up
from groupsim.scenarios.story.records.deliveries import delivered, placed, processed
from groupsim.scenarios.story.records.fetches import Fetches
from groupsim.scenarios.story.records.leader_log import LOG_KINDS

Reader = Callable[[Facts, TraceEvent], None]

STEPS = 1 << 17
"""So many steps are kept before they are summed up."""


def read(facts: Facts, events: Iterable[TraceEvent]) -> None:
    """Read further events into the facts."""
    reader_of, note, steps = READERS.get, facts.lineage.note, facts.ledgers.steps
    end_us = facts.end_us
    for event in events:
        end_us, kind = event.t_us, event.kind
        if kind not in NO_CAUSE:
            note(event)
        reader = reader_of(kind)
        if reader is not None:
            reader(facts, event)
            if len(steps) >= STEPS:
                facts.end_us = end_us
                sum_up(facts)
    facts.end_us = end_us


def finish(facts: Facts) -> None:
    """Complete the facts at the end of the trace."""
    facts.holdings.finish(facts.end_us, facts.growth)
    facts.ledgers.close(facts.log_ends)


# --- the run -------------------------------------------------------------------------------------------------------


def _run_started(facts: Facts, event: TraceEvent) -> None:
    payload = event.payload or {}
    facts.scenario = str(payload.get("scenario", ""))
    facts.seed = payload.get("seed")


def _run_ended(facts: Facts, event: TraceEvent) -> None:
    counted = event.payload or {}
    for host, count in counted.get("heartbeats", {}).items():
        facts.host(host).heartbeats = count
    for host, found in counted.get("fetches", {}).items():
        facts.host(host).fetches = Fetches(found["sent"], found["empty"], found["waited_us"])


def _action_refused(facts: Facts, event: TraceEvent) -> None:
    """Mark the action as refused. It keeps its place in the timeline and is no cause of any event."""
    at = next((n for n, action in enumerate(facts.actions) if action.seq == event.cause), None)
    if at is not None:
        action = facts.actions[at]
        words = f"{action.reason} (refused: {event.reason})"
        facts.actions[at] = action._replace(reason=words, payload=None)


def _fault_begun(facts: Facts, event: TraceEvent) -> None:
    facts.fault_events.append(event)
    facts.faults[event.span or event.seq] = Stretch(
        event.t_us,
        None,
        event.reason or "a fault",
        event.host,
        kind=str((event.payload or {}).get("fault", "")),
        api=event.api,
    )


def _fault_ended(facts: Facts, event: TraceEvent) -> None:
    fault = facts.faults.get(event.span or 0)
    if fault is not None:
        fault.ended_us = event.t_us


# --- processes -----------------------------------------------------------------------------------------------------


def _started(facts: Facts, event: TraceEvent) -> None:
    host = facts.host(event.host or "?")
    payload = event.payload or {}
    facts.starts.append(event)
    host.group = event.group or host.group
    host.client_id = payload.get("client_id") or host.client_id
    host.profile = payload.get("profile") or host.profile
    host.rack = payload.get("config", {}).get("client.rack") or host.rack
    host.instance = payload.get("instance_id") or host.instance
    if "topics" in payload:
        host.topics = tuple(sorted(payload["topics"]))
    host.assigns_itself = "assign" in payload
    host.started.append(event.t_us)


def _ended(facts: Facts, event: TraceEvent) -> None:
    host = facts.host(event.host or "?")
    died_of = event.reason if event.kind is Kind.PROCESS_CRASHED and event.reason != "killed" else None
    what = event.kind.value.removeprefix("process.")
    host.ended.append(Stretch(event.t_us, event.t_us, what, why=died_of or ""))
    host.in_hand = 0
    for stretches in (host.pauses, host.callbacks, host.handling):
        if stretches and stretches[-1].ended_us is None:
            stretches[-1].ended_us = event.t_us
    if event.kind is Kind.PROCESS_FAILED:
        host.failure = event.error or event.reason
        facts.notes.append(event)
    facts.holdings.of_process(event, facts.growth)
    process_ended(facts, event)


def _paused(facts: Facts, event: TraceEvent) -> None:
    facts.host(event.host or "?").pauses.append(Stretch(event.t_us))
    facts.holdings.of_process(event, facts.growth)


def _resumed(facts: Facts, event: TraceEvent) -> None:
    pauses = facts.host(event.host or "?").pauses
    if pauses and pauses[-1].ended_us is None:
        pauses[-1].ended_us = event.t_us
    facts.holdings.of_process(event, facts.growth)


def _starved(facts: Facts, event: TraceEvent) -> None:
    blocked_us = int((event.payload or {})["blocked_us"])
    facts.host(event.host or "?").starved.append(Stretch(event.t_us, event.t_us + blocked_us))


def _callback_begun(facts: Facts, event: TraceEvent) -> None:
    facts.host(event.host or "?").callbacks.append(Stretch(event.t_us, None, event.reason or ""))


def _callback_ended(facts: Facts, event: TraceEvent) -> None:
    callbacks = facts.host(event.host or "?").callbacks
    if callbacks and callbacks[-1].ended_us is None:
        callbacks[-1].ended_us = event.t_us


def _client_state(facts: Facts, event: TraceEvent) -> None:
    host = facts.host(event.host or "?")
    host.states.append((event.t_us, event.to or "UNJOINED"))
    _note_member_id(facts, event)
    member_state(facts, event)


def _signal(facts: Facts, event: TraceEvent) -> None:
    facts.host(event.host or "?").signals.setdefault(event.kind, []).append(event)
    _note_member_id(facts, event)


def _note_member_id(facts: Facts, event: TraceEvent) -> None:
    """Note the process of a member id that an event of its client names."""
    if event.host and event.member:
        facts.client_ids[event.member] = None
        if facts.process.get(event.member) != event.host:
            _assign_id(facts, event.member, event.host, event.t_us)


def _answered(facts: Facts, event: TraceEvent) -> None:
    """Note an error that a client received. Of the answers to heartbeats, the trace has only those with an error."""
    _note_member_id(facts, event)
    if event.api == Api.HEARTBEAT.title and event.error and event.host:
        facts.host(event.host).refused.append(event)
    elif event.error == UNRELEASED and event.host:
        facts.host(event.host).unreleased.append(event.t_us)
    elif event.error and is_unstable_offset(event):
        facts.pending.append(event)


def _request_failed(facts: Facts, event: TraceEvent) -> None:
    _signal(facts, event)
    if is_timed_out(event):
        facts.timed_out_requests.append(event)


def _assign_id(facts: Facts, member: str, host: str, t_us: int) -> None:
    facts.process[member] = host
    facts.host(host).members.append((t_us, member))


def _partition_owned(facts: Facts, event: TraceEvent) -> None:
    group = event.group or facts.host(event.host or "?").group or "?"
    facts.holdings.own(event, group, facts.ledgers.ledger(group, (event.topic or "?", event.partition or 0)))
    _note_member_id(facts, event)


def _partition_released(facts: Facts, event: TraceEvent) -> None:
    facts.holdings.release(event, facts.growth)
    _note_member_id(facts, event)


def _position_set(facts: Facts, event: TraceEvent) -> None:
    placed(facts, event)
    facts.holdings.place(event)
    _note_member_id(facts, event)


def _log_ends(facts: Facts, event: TraceEvent) -> None:
    facts.log_ends = event


# --- the coordinator -----------------------------------------------------------------------------------------------


def _group(facts: Facts, event: TraceEvent) -> GroupFacts:
    return facts.groups.setdefault(event.group or "?", GroupFacts(event.group or "?"))


def _if_current_copy(reader: Reader) -> Reader:
    """Make a reader that skips events of an outdated copy of a group (see `copies.py`)."""

    def read(facts: Facts, event: TraceEvent) -> None:
        if facts.copies.counts(event):
            reader(facts, event)

    return read


def _state(facts: Facts, event: TraceEvent) -> None:
    group = _group(facts, event)
    if event.to in ("Stable", "Empty"):
        group.settled = tuple(group.members.items())
    group.changed_us = event.t_us
    current = group.open
    if event.to == "PreparingRebalance":  # also of a classic group in the place of an empty consumer group
        group.by_epochs = False
    if group.by_epochs:
        epoch_rounds.state_changed(group, event)
        if event.to == "Stable":
            settle(facts, group, event)
    elif event.to == "PreparingRebalance":
        _begin_round(group, event)
    elif current is None:
        return
    elif event.to == "CompletingRebalance":
        current.completing = event
        current.leader = (event.payload or {}).get("leader") or current.leader
        current.present = tuple(group.members)
    elif event.to == "Stable":
        current.stable = current.ended = event
        current.leader = (event.payload or {}).get("leader") or current.leader
        settle(facts, group, event)
    else:
        current.ended = event


def _begin_round(group: GroupFacts, event: TraceEvent) -> None:
    if group.open is not None:
        group.open.ended = event
    recent = {member: at for member, at in group.recent.items() if at == event.t_us}
    begun = Round(group.name, event.generation or 0, event, dict(group.members), recent)
    change = group.last_change
    if change is not None and change.t_us == event.t_us:
        begun.began_by = change
    group.rounds.append(begun)


def _join_received(facts: Facts, event: TraceEvent) -> None:
    if event.api != "JoinGroup" or not event.group or not event.member or facts.copies.replaced(event):
        return
    group = _group(facts, event)
    group.recent[event.member] = event.t_us
    current = group.open
    if current is not None and current.completing is None:
        current.arrivals[event.member] = event.t_us


def _added(facts: Facts, event: TraceEvent) -> None:
    group = _group(facts, event)
    member, payload = event.member or "?", event.payload or {}
    group.members[member] = event.t_us
    group.recent[member] = event.t_us
    group.last_change = event
    _note_member(facts, member, payload, event)
    current = group.open
    barrier = not (group.rebalancing or group.by_epochs)
    if current is not None and current.completing is None and barrier:
        current.arrivals[member] = event.t_us


def _note_member(facts: Facts, member: str, values: Mapping[str, Any], event: TraceEvent) -> None:
    """Note what the coordinator learns of a member from its first join: its session timeout and its process."""
    if "session_timeout_ms" in values:
        facts.session_us[member] = int(values["session_timeout_ms"]) * 1000
    for name in (facts.lineage.sender(event), values.get("client_host"), values.get("client_id")):
        if isinstance(name, str) and name.lstrip("/") in facts.hosts:
            if member not in facts.process:
                _assign_id(facts, member, name.lstrip("/"), event.t_us)
            return


def _updated(facts: Facts, event: TraceEvent) -> None:
    group = _group(facts, event)
    group.last_change = event
    group.recent[event.member or "?"] = event.t_us


def _replaced(facts: Facts, event: TraceEvent) -> None:
    group = _group(facts, event)
    old = (event.payload or {}).get("old")
    group.members.pop(str(old), None)
    group.held.pop(str(old), None)
    group.members[event.member or "?"] = event.t_us
    group.recent[event.member or "?"] = event.t_us
    group.last_change = event
    if old in facts.session_us:
        facts.session_us[event.member or "?"] = facts.session_us[str(old)]
    _note_member(facts, event.member or "?", event.payload or {}, event)
    settle(facts, group, event)


def _removed(facts: Facts, event: TraceEvent) -> None:
    group = _group(facts, event)
    group.members.pop(event.member or "?", None)
    group.held.pop(event.member or "?", None)
    group.removals.append(event)
    group.changed_us = event.t_us
    facts.holdings.removed(facts.process.get(event.member or ""), event, facts.growth)
    group.last_change = event
    current = group.open
    if current is not None:
        current.removed.append(event)
        group.removed_in[event.seq] = current
        waited_since = current.arrivals.pop(event.member or "?", None)
        if waited_since is not None and current.completing is None:
            current.removed_waiting[event.member or "?"] = waited_since


def _pending(facts: Facts, event: TraceEvent) -> None:
    group = _group(facts, event)
    _note_member(facts, event.member or "?", event.payload or {}, event)
    if group.open is not None:
        group.open.pending.append(event)


def _fenced(facts: Facts, event: TraceEvent) -> None:
    facts.notes.append(event)
    instance = str((event.payload or {}).get("instance_id", "?"))
    _group(facts, event).fenced.setdefault(instance, []).append(event.member or "?")


def _loaded(facts: Facts, event: TraceEvent) -> None:
    group = _group(facts, event)
    group.loaded.append(event.t_us)
    group.changed_us = event.t_us
    facts.brokers.append(event)
    if group.by_epochs:
        epoch_rounds.loaded(group, event)
    elif group.open is not None:
        group.open.ended = event  # GroupMetadataManager has no record of a rebalance in progress: it is lost
    known = dict(as_loaded(group.members.items(), [group.settled], (event.payload or {}).get("members")))
    for member in (one for one in known if one not in group.members):
        group.restored_us.setdefault(member, []).append(event.t_us)
    group.members = known


def _unloaded(facts: Facts, event: TraceEvent) -> None:
    group = _group(facts, event)
    if group.open is not None and not group.by_epochs:
        group.open.ended = event


READERS: dict[Kind, Reader] = {
    Kind.RUN_STARTED: _run_started,
    Kind.RUN_ENDED: _run_ended,
    Kind.ACTION: lambda facts, event: facts.actions.append(event),
    Kind.ACTION_REFUSED: _action_refused,
    Kind.ROLLOUT_ENDED: rollout_ended,
    Kind.FAULT_BEGUN: _fault_begun,
    Kind.FAULT_ENDED: _fault_ended,
    Kind.METADATA_CHANGED: lambda facts, event: facts.metadata.append(event),
    Kind.PROCESS_STARTED: _started,
    Kind.PROCESS_STOPPED: _ended,
    Kind.PROCESS_CRASHED: _ended,
    Kind.PROCESS_FAILED: _ended,
    Kind.PROCESS_PAUSED: _paused,
    Kind.PROCESS_RESUMED: _resumed,
    Kind.HEARTBEATS_BLOCKED: _starved,
    Kind.REQUEST_SENT: _note_member_id,
    Kind.REQUEST_RECEIVED: _join_received,
    Kind.REQUEST_PARKED: _join_received,
    Kind.RESPONSE_RECEIVED: _answered,
    Kind.REQUEST_FAILED: _request_failed,
    Kind.GROUP_STATE: _if_current_copy(_state),
    Kind.GROUP_CONVERTED: _if_current_copy(converted),
    Kind.EPOCH_BUMPED: _if_current_copy(epoch_rounds.bumped),
    Kind.TARGET_COMPUTED: _if_current_copy(epoch_rounds.target_computed),
    Kind.MEMBER_EPOCH: _if_current_copy(epoch_rounds.member_moved),
    Kind.REGEX_RESOLVED: _if_current_copy(epoch_rounds.regex_resolved),
    Kind.MEMBER_PENDING: _if_current_copy(_pending),
    Kind.MEMBER_ADDED: _if_current_copy(_added),
    Kind.MEMBER_UPDATED: _if_current_copy(_updated),
    Kind.MEMBER_REPLACED: _if_current_copy(_replaced),
    Kind.MEMBER_REMOVED: _if_current_copy(_removed),
    Kind.MEMBER_FENCED: _if_current_copy(_fenced),
    Kind.GROUP_LOADED: _if_current_copy(_loaded),
    Kind.BROKER_FENCED: lambda facts, event: facts.brokers.append(event),
    Kind.BROKER_UNFENCED: lambda facts, event: facts.brokers.append(event),
    Kind.PARTITION_LEADER: lambda facts, event: facts.brokers.append(event),
    Kind.GROUP_UNLOADED: _if_current_copy(_unloaded),
    Kind.OFFSET_EXPIRED: lambda facts, event: facts.notes.append(event),
    Kind.CLIENT_STATE: _client_state,
    Kind.COORDINATOR_FOUND: _signal,
    Kind.COORDINATOR_LOST: _signal,
    Kind.REJOIN_REQUESTED: _signal,
    Kind.GENERATION_RESET: _signal,
    Kind.ASSIGNMENT_COMPUTED: _signal,
    Kind.CALLBACK_BEGUN: _callback_begun,
    Kind.CALLBACK_ENDED: _callback_ended,
    Kind.PARTITION_OWNED: _partition_owned,
    Kind.PARTITION_RELEASED: _partition_released,
    Kind.POSITION_SET: _position_set,
    Kind.RECORDS_DELIVERED: delivered,
    Kind.RECORDS_PROCESSED: processed,
    Kind.COMMIT_FAILED: lambda facts, event: facts.commits_failed.append(event),
    Kind.PRODUCE_FAILED: lambda facts, event: facts.produce_failed.append(event),
    **dict.fromkeys(LOG_KINDS, lambda facts, event: facts.ledgers.follow_log(event)),
    Kind.LOG_ENDS: _log_ends,
    Kind.POLL_EXPIRED: _signal,
    Kind.SESSION_EXPIRED: _signal,
    Kind.PLUGIN_ERROR: lambda facts, event: facts.notes.append(event),
    Kind.WARNING: lambda facts, event: facts.notes.append(event),
}
