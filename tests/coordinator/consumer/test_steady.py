"""A heartbeat that changes nothing: known by a rule, and the same without it."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from groupsim.coordinator.consumer import heartbeat
from groupsim.coordinator.consumer.heartbeat import steady_member
from tests.helpers.consumer_group_author import copied
from tests.helpers.heartbeat_bench import A, B, HeartbeatBench, answer, given

MEMBERS = ("m1", "m2", "m3", "s1")
ASSIGNORS = ("uniform", "range")
ROUNDS = 120


def history(seed: int) -> tuple[list[Any], int]:
    """All that a random history of a group shows, and how many of its heartbeats have no other field.

    Odd seeds have regular expressions, those from 4 on two assignors.
    """
    luck, bench, plain = Random(seed), HeartbeatBench(), 0
    shown: list[Any] = []
    epochs: dict[str, int] = {}
    partitions = 6
    for _ in range(ROUNDS):
        bench.advance_ms(luck.choice((0, 5, 1_000, 4_000)))
        member = luck.choice(MEMBERS)
        instance = "i1" if member == "s1" else None
        what = luck.random()
        if member not in epochs or what < 0.04:
            names = luck.choice((("a",), ("a",), ("a", "b")))
            regex = "b.*" if seed % 2 and luck.random() < 0.05 else None
            sent = bench.enroll(member, *names, instance=instance, regex=regex)
        elif what < 0.08:
            sent = bench.leave_group(member, epoch=-2 if instance else -1, instance=instance)
            del epochs[member]
        elif what < 0.12:
            sent = bench.beat(
                member, epochs[member], instance=instance, assignor=luck.choice(ASSIGNORS[: seed // 4 + 1])
            )
        elif what < 0.15:
            partitions += 1
            bench.grow((A, "a", partitions), (B, "b", 3))
            continue
        elif what < 0.18:
            sent = bench.beat(member, epochs[member] + luck.choice((-1, 1)), instance=instance)
        elif what < 0.35:
            known = bench.group().data.members.get(member)
            owned = {} if known is None else {topic: sorted(of) for topic, of in known.assigned.items()}
            sent = bench.beat(member, epochs[member], owned=owned, instance=instance)
        else:
            plain += 1
            sent = bench.beat(member, epochs[member], instance=instance)
        response = answer(sent)
        shown.append((response, dict(bench.timers())))
        if response.error:
            epochs.pop(member, None)
        elif response.member_epoch > 0:
            epochs[member] = response.member_epoch
    return [shown, bench.log, bench.emitted, copied(bench.group().data)], plain


@pytest.mark.parametrize("seed", range(8))
def test_a_history_is_the_same_without_the_rule(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers, timers, records, events and the group's state do not depend on it."""
    known: list[bool] = []

    def noted(*args: Any) -> Any:
        member = steady_member(*args)
        known.append(member is not None)
        return member

    monkeypatch.setattr(heartbeat, "steady_member", noted)
    first, plain = history(seed)
    monkeypatch.setattr(heartbeat, "steady_member", lambda *args: None)
    assert history(seed)[0] == first
    assert sum(known) <= plain
    if seed in (0, 2):
        assert sum(known) > plain / 4  # the rule is used


def test_the_rule_knows_a_heartbeat_that_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """It prolongs the session and has no assignment; nothing that a heartbeat with work calls is called."""
    bench = HeartbeatBench()
    bench.enroll("m")
    bench.beat("m", 2)  # a new group looks at its topics once more
    bench.advance_ms(3_000)
    monkeypatch.setattr(heartbeat, "update_member", None)
    assert given(bench.beat("m", 2)) == (2, None)
    assert bench.timers_of("m") == {"session-timeout-g-m": 45_000}
