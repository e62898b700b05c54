"""A random walk through the core, with everything that must always hold looked at after every step."""

from __future__ import annotations

from collections import Counter

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from groupsim.coordinator.base.config import CoordinatorConfig
from groupsim.coordinator.base.purgatory import ANSWERED
from groupsim.coordinator.classic.entry_points import ClassicGroup
from groupsim.coordinator.classic.states import State
from groupsim.coordinator.testing import Bench, Sent
from groupsim.eventloop.trace.events import Kind
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import JoinGroupRequest, JoinProtocol

PROTOCOLS = (
    (JoinProtocol("range", b"1"), JoinProtocol("roundrobin", b"1")),
    (JoinProtocol("range", b"2"),),
    (JoinProtocol("roundrobin", b"1"), JoinProtocol("range", b"1")),
)
VERSIONS = ("4.1", "2.8.1", "0.10.2")
ERRORS = (ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.MESSAGE_TOO_LARGE)


class Walk(RuleBasedStateMachine):
    """Members come, go, stall and are replaced; appends are slow or fail; the coordinator moves."""

    def __init__(self) -> None:
        super().__init__()
        self.bench = Bench()
        self.earlier: list[Sent] = []
        self.ghosts: set[str] = set()
        self.generation = 0
        self.notes_seen = 0
        self.doubtful = False  # an append failed: memory may be ahead of the log until the next assignment

    @property
    def group(self) -> ClassicGroup | None:
        group = self.bench.shard.groups.get("g")
        assert group is None or isinstance(group, ClassicGroup)
        return group

    def ids(self) -> list[str]:
        return [] if self.group is None else [*self.group.members, *self.group.pending_join]

    def pick(self, number: int) -> str:
        ids = self.ids()
        return ids[number % len(ids)] if ids else "nobody"

    # --- steps ---------------------------------------------------------------------------------------------------

    @precondition(lambda self: self.group is None and not self.bench.sent)
    @rule(version=st.sampled_from(VERSIONS), limit=st.sampled_from((3, 1_000)), auto=st.booleans())
    def choose_broker(self, version: str, limit: int, auto: bool) -> None:
        self.bench = Bench(CoordinatorConfig(version, group_max_size=limit), auto_commit=auto)

    @rule(
        protocols=st.sampled_from(PROTOCOLS),
        instance=st.sampled_from((None, None, "i1", "i2")),
        version=st.sampled_from((3, 9)),
        rebalance_ms=st.sampled_from((5_000, 20_000)),
    )
    def newcomer(
        self, protocols: tuple[JoinProtocol, ...], instance: str | None, version: int, rebalance_ms: int
    ) -> None:
        if self.group is not None and instance is not None:
            self.ghosts |= {self.group.instances.get(instance, "")}
        self.bench.join(
            "c", instance=instance, protocols=protocols, version=version, rebalance_ms=rebalance_ms, session_ms=10_000
        )

    @rule(number=st.integers(0, 20), protocols=st.sampled_from(PROTOCOLS))
    def rejoin(self, number: int, protocols: tuple[JoinProtocol, ...]) -> None:
        self.bench.join(member_id=self.pick(number), protocols=protocols, session_ms=10_000, rebalance_ms=20_000)

    @rule(numbers=st.lists(st.integers(0, 20), min_size=1, max_size=4))
    def everybody_rejoins(self, numbers: list[int]) -> None:
        for member_id in self.ids():
            self.bench.join(member_id=member_id, protocols=PROTOCOLS[0], session_ms=10_000, rebalance_ms=20_000)

    @rule(number=st.integers(0, 20), stale=st.booleans())
    def sync(self, number: int, stale: bool) -> None:
        generation = self.generation - stale
        member_id = self.pick(number)
        leads = self.group is not None and self.group.leader == member_id
        plan = {one: f"{generation}/{one}".encode() for one in self.ids()} if leads else None
        self.bench.sync(member_id, generation, plan)

    @precondition(lambda self: self.group is not None and self.group.state is State.AWAITING_SYNC)
    @rule()
    def everybody_syncs(self) -> None:
        self.bench.assign()

    @rule(number=st.integers(0, 20), stale=st.booleans())
    def heartbeat(self, number: int, stale: bool) -> None:
        self.bench.heartbeat(self.pick(number), self.generation - stale)

    @rule(number=st.integers(0, 20))
    def leave(self, number: int) -> None:
        self.bench.leave(self.pick(number))

    @rule(number=st.integers(0, 20), offset=st.integers(0, 9))
    def commit_offset(self, number: int, offset: int) -> None:
        self.bench.commit_offset(offset, member_id=self.pick(number), generation=self.generation)

    @rule(duration_ms=st.sampled_from((1, 1_000, 3_000, 10_000, 21_000)))
    def time_passes(self, duration_ms: int) -> None:
        self.bench.commit()
        self.bench.advance_ms(duration_ms)

    @precondition(lambda self: self.bench.in_flight)
    @rule()
    def append_commits(self) -> None:
        self.bench.commit(1)

    @precondition(lambda self: self.bench.in_flight)
    @rule(error=st.sampled_from(ERRORS))
    def append_fails(self, error: ErrorCode) -> None:
        self.doubtful = True
        self.bench.fail_append(error)

    @rule()
    def fail_over(self) -> None:
        self.look_at_notes()
        self.earlier += self.bench.sent
        ids = self.bench._ids
        self.bench = self.bench.fail_over()
        self.bench._ids = ids  # a fresh id is unique across brokers
        self.notes_seen = 0
        self.ghosts.clear()
        self.generation = 0 if self.group is None else self.group.generation

    # --- what must hold ------------------------------------------------------------------------------------------

    @invariant()
    def look_at_notes(self) -> None:
        """The generation moves by one exactly when a round closes."""
        for note in self.bench.emitted[self.notes_seen :]:
            if note.kind is Kind.GROUP_STATE and note.generation is not None:
                closes = note.to in ("CompletingRebalance", "Empty")
                if note.from_ == "Empty" and note.generation == 0:
                    self.generation = 0
                self.generation += closes
                assert note.generation == self.generation, note
            if note.kind is Kind.GROUP_STATE and note.to == "Stable":
                self.doubtful = False
        self.notes_seen = len(self.bench.emitted)
        if self.group is not None:
            self.generation = self.group.generation

    @invariant()
    def answers_are_single_and_nothing_is_lost(self) -> None:
        """Every request is answered at most once; what is not is parked, held back, or known to be dropped."""
        held = list(self.bench.shard.op.purgatory)
        # Up to 3.9 a commit waits as a callback, which holds the call.
        waiting = {id(one.call) for one in held} | {id(getattr(one.then, "call", None)) for one in held}
        for member in self.group.members.values() if self.group is not None else ():
            waiting |= {id(member.join_call), id(member.sync_call)}
        for sent in self.bench.sent:
            assert len(sent.responses) <= 1, sent
            if not sent.responses and sent.dropped is None:
                assert id(sent) in waiting, sent
        for sent in self.earlier:
            assert sent.responses or sent.dropped is not None, sent

    @invariant()
    def counters_agree_with_what_they_count(self) -> None:
        """Members, look-up, instances, awaiting joins and protocol counts tell the same story."""
        group = self.group
        if group is None:
            return
        members = list(group.members.values())
        assert {one.member_id: one for one in members} == group.lookup
        assert group.awaiting_joins == sum(one.join_call is not None for one in members)
        assert group.instances == {one.instance_id: one.member_id for one in members if one.instance_id}
        counted = Counter(protocol.name for one in members for protocol in one.protocols)
        assert {name: count for name, count in group.supported.items() if count} == counted

    @invariant()
    def the_group_is_in_order(self) -> None:
        """One leader among the members; parked requests only where they can be; no strangers in the pending sets."""
        group = self.group
        if group is None:
            return
        assert (group.leader in group.members) if group.members else group.leader is None
        if group.state is State.EMPTY:
            assert not group.members
        if group.state is not State.PREPARING_REBALANCE:
            parked = [one for one in group.members.values() if one.join_call not in (None, ANSWERED)]
            assert not parked or (group.state is State.STABLE and self.bench.in_flight)
        if group.state is not State.AWAITING_SYNC:
            assert all(one.sync_call is None for one in group.members.values())
        assert set(group.pending_sync) <= set(group.members) | self.ghosts
        assert not set(group.pending_join) & set(group.members)

    @invariant()
    def an_open_round_has_its_timer(self) -> None:
        """In PreparingRebalance the join timer runs; members that wait for nothing have a session that runs."""
        group = self.group
        if group is None:
            return
        timers = self.bench.timers()
        assert ("join-g" in timers) >= (group.state is State.PREPARING_REBALANCE)
        for member in group.members.values():
            assert f"heartbeat-g-{member.member_id}" in timers or member.join_call or member.sync_call

    @invariant()
    def the_log_tells_of_the_stable_group(self) -> None:
        """Replaying the durable records gives a Stable group back as it is."""
        group = self.group
        if group is None or group.state is not State.STABLE or self.bench.in_flight or self.doubtful:
            return
        restored = Bench(self.bench.config, records=self.bench.log).shard.groups.get("g")
        assert isinstance(restored, ClassicGroup)
        assert (restored.generation, restored.leader, restored.protocol) == (
            group.generation,
            group.leader,
            group.protocol,
        )
        told = {one.member_id: (one.instance_id, one.assignment) for one in restored.members.values()}
        assert told == {one.member_id: (one.instance_id, one.assignment) for one in group.members.values()}


TestWalk = Walk.TestCase
TestWalk.__doc__ = "Whatever comes in whatever order, the group stays in order."
TestWalk.settings = settings(
    max_examples=100,
    stateful_step_count=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)


def test_join_request_versions_are_kept_apart() -> None:
    """The walk's newcomers of version 3 are added at once, those of version 9 are sent away first."""
    bench = Bench()
    old, new = bench.join("a", version=3), bench.join("b", version=9)
    assert isinstance(old.request, JoinGroupRequest)
    assert not old.answered
    assert new.error is ErrorCode.MEMBER_ID_REQUIRED
