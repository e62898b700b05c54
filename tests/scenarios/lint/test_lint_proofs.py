"""The predictions of the linter hold: the same scenario, run, and run again with the remedy.

And over the whole library: its findings are the subjects of its scenarios.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from groupsim.eventloop.trace.events import Kind, TraceEvent
from groupsim.members.profiles import PROFILES
from groupsim.protocol.messages.group import Api
from groupsim.scenarios.language.document import parse_document, read_document
from groupsim.scenarios.language.problems import NOTE
from groupsim.scenarios.lint import RULES, lint_scenario
from groupsim.scenarios.lint.rules import migration
from groupsim.scenarios.loading.catalogue import find, names
from groupsim.scenarios.loading.load import load_text
from groupsim.scenarios.runtime.runner import run_scenario

TESTS = Path(__file__).parents[2]
HEAD = "run-for: {run}\nbroker: {{version: '{version}', group.initial.rebalance.delay.ms: {delay}}}\n"


def file(group: str, *, run: str = "2m", version: str = "3.9", delay: int = 0, topic: str = "4, rate: 8/s") -> str:
    """A scenario around one group."""
    head = HEAD.format(run=run, version=version, delay=delay)
    return f"{head}topics: {{t: {{partitions: {topic}}}}}\n{group}\n"


def pair(group: str, setting: str, trap: str, remedy: str, **others: object) -> tuple[str, str]:
    """Two scenarios that differ in one place."""
    return tuple(file(group.replace(setting, value), **others) for value in (trap, remedy))  # type: ignore[arg-type,return-value]


READER = "{properties: {isolation.level: read_committed}, members: {c: 1}}"


def replicated(rest: str, trap: str, remedy: str, group: str = "{members: {c: 1}}") -> tuple[str, str]:
    """Two scenarios on brokers with logs of their own that differ in one value."""
    head = "run-for: 80s\ncluster: {logs: replicated, brokers: 3, placement: zookeeper}\n"
    whole = f"{head}{rest}\ngroups: {{g: {group}}}\n"
    return whole.replace("X", trap), whole.replace("X", remedy)


# rule, its effect in the trace, the configuration with a finding, the same with the remedy
TRAPS = {
    "session-outside-broker-range": (
        "INVALID_SESSION_TIMEOUT",
        pair("groups: {g: {properties: {session.timeout.ms: X}, members: {c: 1}}}", "X", "5999", "6000"),
    ),
    "no-common-assignor": (
        "INCONSISTENT_GROUP_PROTOCOL",
        pair("groups: {g: {members: {a: {assignor: range}, b: {start: 5s, assignor: X}}}}", "X",
             "roundrobin", "[roundrobin, range]"),
    ),
    "shared-instance-id": (
        "FENCED_INSTANCE_ID",
        pair("groups: {g: {instance-id: 'X', members: {a: 1, b: {start: 5s}}}}", "X", "one", "{name}"),
    ),
    "group-above-max-size": (
        "GROUP_MAX_SIZE_REACHED",
        tuple(
            file("groups: {g: {members: {a: 1, b: {start: 5s}, c: {start: 10s}}}}").replace(
                "{version: '3.9'", f"{{version: '3.9', group.max.size: {size}"
            )
            for size in (2, 3)
        ),
    ),
    "record-longer-than-poll-interval": (
        "poll.expired",
        pair("groups: {g: {properties: {max.poll.interval.ms: X, session.timeout.ms: 10s, max.poll.records: 1}, "
             "processing: 15s, members: {c: 1}}}", "X", "10s", "20s"),
    ),
    "batch-longer-than-poll-interval": (
        "poll.expired",
        pair("groups: {g: {properties: {max.poll.interval.ms: 10s, session.timeout.ms: 10s, max.poll.records: X, "
             "auto.offset.reset: earliest}, processing: 500ms, members: {c: {start: 60s}}}}", "X", "40", "10"),
    ),
    "handler-starves-heartbeat": (
        "session-expired",
        pair("groups: {g: {client: kafka-python-1.3, properties: {session.timeout.ms: X, max.poll.records: 1}, "
             "processing: 12s, members: {c: 1}}}", "X", "10s", "30s"),
    ),
    "revoke-longer-than-rebalance": (
        "poll.expired",  # the callback runs inside poll(): both limits pass at once
        pair("groups: {g: {properties: {max.poll.interval.ms: X, session.timeout.ms: 10s}, on-revoked: 25s, "
             "members: {a: 1, b: {start: 10s}}}}", "X", "20s", "40s"),
    ),
    "assigned-callback-starves-heartbeat": (
        "session-expired",
        pair("groups: {g: {client: ruby-kafka, properties: {session.timeout.ms: X, heartbeat.interval.ms: 3s}, "
             "on-assigned: 20s, members: {c: 1}}}", "X", "10s", "30s", version="2.2"),
    ),
    "assignor-slower-than-session": (
        "session-expired",
        pair("groups: {g: {client: librdkafka-1.x, properties: {session.timeout.ms: X}, assignor-time: 12s, "
             "members: {c: 2}}}", "X", "10s", "20s", version="2.6"),
    ),
    "assigned-longer-than-poll-interval": (
        "poll.expired",
        pair("groups: {g: {properties: {max.poll.interval.ms: X, session.timeout.ms: 10s}, on-assigned: 12s, "
             "members: {c: 1}}}", "X", "10s", "20s"),
    ),
    "pause-longer-than-session": (
        "session-expired",
        pair("groups: {g: {properties: {session.timeout.ms: X}, pauses: {every: 30s, length: 12s}, "
             "members: {c: 2}}}", "X", "10s", "20s"),
    ),
    "static-away-longer-than-session": (
        "session-expired",
        pair("groups: {g: {instance-id: '{name}', properties: {session.timeout.ms: X}, members: {c: 3}}}\n"
             "timeline: [{at: 20s, do: rolling-restart, kind: statefulset, start-time: 12s}]", "X", "10s", "20s"),
    ),
    "static-id-renamed": (
        "session-expired",
        pair("groups: {g: {instance-id: '{name}', properties: {session.timeout.ms: 10s}, members: {c: 3}}}\n"
             "timeline: [{at: 20s, do: rolling-restart, kind: X, start-time: 2s}]", "X", "deployment", "statefulset"),
    ),
    "initial-delay-above-request-timeout": (
        "request.failed",
        tuple(
            file("groups: {g: {client: ruby-kafka, members: {c: 1}}}", version="2.8", delay=delay)
            for delay in (15_000, 3_000)
        ),
    ),
    "request-timeout-below-join": (
        "TIMED_OUT",  # b waits 42 s for a, which never joins again
        pair("groups: {g: {client: sarama, properties: {rebalance.timeout.ms: 42s, request.timeout.ms: X}, "
             "members: {a: {stuck: [never-rejoin]}, b: {start: 10s}}}}", "X", "30s", "48s"),
    ),
    "poll-interval-in-seconds": (
        "poll.expired",
        pair("groups: {g: {client: java-3.9, properties: {max.poll.interval.ms: X, max.poll.records: 1}, "
             "processing: 900ms, members: {c: 1}}}", "X", "600", "600000"),
    ),
    "static-needs-broker": (
        "UNSUPPORTED_VERSION",
        tuple(file("groups: {g: {instance-id: one, members: {c: 1}}}", version=version) for version in ("2.2", "2.3")),
    ),
    "static-session-short": (
        "session-expired",
        pair("groups: {g: {instance-id: '{name}', properties: {session.timeout.ms: X}, members: {c: 2}}}\n"
             "timeline: [{at: 30s, do: stop, member: c-1}, {at: 75s, do: start, member: c-1}]", "X", "20s", "70s"),
    ),
    "reset-none": (
        "NoOffsetForPartitionException",
        pair("groups: {g: {properties: {auto.offset.reset: X}, members: {c: 1}}}", "X", "none", "earliest"),
    ),
    "min-session-above-max": (
        "INVALID_SESSION_TIMEOUT",
        tuple(
            file("groups: {g: {properties: {session.timeout.ms: 50000}, members: {c: 1}}}").replace(
                "{version: '3.9'",
                f"{{version: '3.9', group.min.session.timeout.ms: {least}, group.max.session.timeout.ms: 60000",
            )
            for least in (70_000, 6_000)
        ),
    ),
    "transaction-timeout-above-broker": (
        "INVALID_TRANSACTION_TIMEOUT",
        replicated("topics: {t: 1}\nproducers: {p: {topic: t, rate: 5/s, transactional-id: a, commit-every: 1s, "
                   "properties: {transaction.timeout.ms: X}}}", "900001", "900000", READER),
    ),
    "broker-session-below-heartbeats": (
        "broker.fenced",
        replicated("broker: {broker.session.timeout.ms: X, broker.heartbeat.interval.ms: 2000}\n"
                   "topics: {t: {partitions: 3, replication: 3, rate: 5/s}}", "2000", "4000"),
    ),
    "unclean-elections": (
        "unclean",
        replicated("broker: {unclean.leader.election.enable: X}\ntopics: {t: {replicas: [[0, 1]], rate: 5/s}}\n"
                   "timeline: [{at: 10s, do: crash-broker, broker: 1}, {at: 30s, do: crash-broker, broker: 0}, "
                   "{at: 31s, do: restart-broker, broker: 1}]", "true", "false"),
    ),
}  # fmt: skip

# Rules whose prediction another test runs: below `tests`, or in this module.
ELSEWHERE = {
    "api-timeout-below-request": "members/commit/test_committing.py::test_commit_sync_gives_up_after_the_api_timeout",
    "commit-interval-unused": "scenarios/lint/test_lint_proofs.py::test_a_setting_that_does_nothing_does_nothing",
    "fetch-wait-not-below-request": "scenarios/lint/test_lint_proofs.py::"
    "test_a_fetch_that_may_outlast_a_request_times_out",
    "heartbeat-above-third": "scenarios/library/test_scenes.py::test_the_figures_of_the_threads_come_out",
    "idempotence-switched-off": "members/producer/test_trouble.py::"
    "test_without_idempotence_a_broken_connection_duplicates",
    "idle-offsets-expire": "scenarios/library/test_scenes.py::test_a_scenario_holds_what_it_expects",
    "min-insync-equals-replicas": "scenarios/test_replicated.py::test_min_insync_replicas_holds_commits_back_since_3_7",
    "offsets-topic-min-insync": "scenarios/test_replicated.py::test_min_insync_replicas_holds_commits_back_since_3_7",
    "poll-limit-not-enforced": "scenarios/lint/test_lint_proofs.py::test_a_setting_that_does_nothing_does_nothing",
    "reads-uncommitted": "members/fetch/test_pull.py::test_aborted_transactions_are_skipped_under_read_committed",
    "rebalance-timeout-not-sent": "scenarios/lint/test_lint_proofs.py::test_a_setting_that_does_nothing_does_nothing",
    "static-id-ignored": "scenarios/lint/test_lint_proofs.py::test_a_setting_that_does_nothing_does_nothing",
}

# Rules without a prediction that a run could show, and the reason.
REFUSED = "client or broker refuses to start"
NAMES = "a name that this client or broker passes over; a scenario refuses it or notes it"
FILES = "how a file is read, not what a group does"
UNRUN = "the scenario has no such part: KIP-848 groups, racks of brokers, disks, days of retention"
TARGETS = "speaks of a protocol that is not simulated yet (KIP-848)"
WITHOUT_A_RUN = {
    TARGETS: " ".join(rule.id for rule in migration.RULES),
    REFUSED: "impossible-value librdkafka-range assignor-needs-class no-such-assignor heartbeat-not-below-session "
    "request-timeout-not-above-session idle-close-not-above-request librdkafka-sizes impossible-producer-value "
    "idempotence-refused transaction-without-idempotence delivery-timeout-below-request impossible-broker-value "
    "consumer-group-range",
    NAMES: "broker-key-on-client topic-key-on-client producer-key-on-consumer framework-key-on-consumer "
    "key-of-another-library old-consumer-key key-too-new key-gone key-deprecated misspelt-key unknown-to-spring "
    "client-key-on-broker broker-key-too-new transaction-timeout-unused",
    FILES: "repeated-key duration-without-unit quoted-value rollout-in-no-time",
    UNRUN: "classic-key-with-consumer-protocol remote-assignor-with-classic consumer-protocol-unsupported "
    "rack-without-selector commit-interval-above-retention retention-below-weekend retention-check-rare "
    "offsets-topic-one-replica min-insync-above-replicas min-insync-1-with-acks-all min-insync-without-acks-all "
    "replica-lag-below-fetch-wait fetch-min-bytes-above-wait backoff-above-maximum poll-interval-below-session "
    "mixed-rebalance-protocols",
}
# Findings in the library, and the reason: an incident's cause is in its settings, or is not.
LIBRARY = {
    ("acks-1-leader-dies", "min-insync-without-acks-all"): 1,
    ("assignor-migration-in-one-bounce", "no-common-assignor"): 1,
    ("assignor-slower-than-session", "assignor-slower-than-session"): 1,
    ("deploy-jvm-S-static", "static-away-longer-than-session"): 1,  # one start in twenty takes more than 45 s
    ("group-is-full", "group-above-max-size"): 1,
    ("lost-commit-duplicates", "unclean-elections"): 1,
    ("old-clients-evict-each-other", "heartbeat-above-third"): 1,  # 5 s of 10 s, as in the thread
    ("poll-loop-blocked-leaves", "poll-interval-below-session"): 1,  # the real librdkafka refuses 6 s beside 10 s
    ("seeking-starves-the-heartbeat", "assigned-callback-starves-heartbeat"): 1,
    ("slow-record-livelock", "record-longer-than-poll-interval"): 1,
    ("two-pods-one-instance-id", "shared-instance-id"): 1,
    ("unclean-election-truncates-consumers", "unclean-elections"): 1,
}


def shows(events: list[TraceEvent], sign: str) -> int:
    """Count the events with this kind, error or reason."""
    return sum(sign in (event.kind.value, event.error, event.reason) for event in events)


def run(text: str) -> list[TraceEvent]:
    """The trace of a scenario."""
    return run_scenario(load_text(text, "scenario.yaml"), seed=1).events


def found(text: str) -> list[str]:
    """Return the rules with a finding in the scenario."""
    return [finding.rule for finding in lint_scenario(parse_document(text, "scenario.yaml"))]


@pytest.mark.parametrize("rule", TRAPS)
def test_what_a_rule_warns_of_happens(rule: str) -> None:
    """With the mistake the linter has a finding and the run shows it; with the remedy neither."""
    sign, (trap, remedy) = TRAPS[rule]
    assert rule in found(trap)
    assert rule not in found(remedy)
    assert shows(run(trap), sign) >= 1
    assert shows(run(remedy), sign) == 0


def test_every_rule_is_run_or_says_why_not() -> None:
    """Every rule with a visible effect has a run: each rule is in one of the tables above."""
    unrun = [rule for rules in WITHOUT_A_RUN.values() for rule in rules.split()]
    assert sorted([*TRAPS, *ELSEWHERE, *unrun]) == sorted(rule.id for rule in RULES)
    for place in ELSEWHERE.values():
        path, _, test = place.partition("::")
        assert f"def {test}(" in (TESTS / path).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", sorted({profile.name for profile in PROFILES.values()}))
def test_the_linter_and_the_profiles_agree_about_parked_joins(name: str) -> None:
    """The linter warns of a short read timeout exactly if the simulated library times out on a parked join."""
    rule = "request-timeout-below-join"
    text = file(f"groups: {{g: {{client: {name}, properties: {{request.timeout.ms: 5000}}, members: {{c: 1}}}}}}")
    assert (rule in found(text)) == (Api.JOIN_GROUP not in PROFILES[name].parked)


def requests(events: list[TraceEvent], api: str) -> list[Mapping[str, Any]]:
    """The payloads of the requests of one kind that members sent."""
    return [event.payload or {} for event in events if event.kind is Kind.REQUEST_SENT and event.api == api]


def test_a_setting_that_does_nothing_does_nothing() -> None:
    """A poll limit, a rebalance timeout, an interval and an instance id that a library ignores."""
    group = "groups: {g: {client: X, instance-id: one, properties: {Y: 10000}, processing: 15s, members: {c: 1}}}"

    def ran(client: str, key: str, rule: str) -> list[TraceEvent]:
        text = file(group.replace("X", client).replace("Y", key))
        assert rule in found(text)
        return run(text)

    assert shows(ran("sarama", "max.poll.interval.ms", "poll-limit-not-enforced"), "poll.expired") == 0
    joins = requests(ran("java-3.9", "rebalance.timeout.ms", "rebalance-timeout-not-sent"), "JoinGroup")
    assert {join["rebalance_timeout_ms"] for join in joins} == {300_000}
    joins = requests(ran("kafka-python-2.x", "session.timeout.ms", "static-id-ignored"), "JoinGroup")
    assert all("instance_id" not in join for join in joins)
    unused = group.replace("Y:", "enable.auto.commit: false, Y:").replace("instance-id: one, ", "")
    text = file(unused.replace("X", "java-3.9").replace("Y", "auto.commit.interval.ms"))
    assert "commit-interval-unused" in found(text)
    assert requests(run(text), "OffsetCommit") == []


def test_a_fetch_that_may_outlast_a_request_times_out() -> None:
    """Each Fetch of an idle partition ends at the request timeout; the client then asks for metadata again."""
    group = "{client: aiokafka, properties: {request.timeout.ms: 12000, fetch.max.wait.ms: X}, members: {c: 1}}"
    trap, remedy = replicated("topics: {t: 1}\n", "20000", "5000", group)
    assert "fetch-wait-not-below-request" in found(trap)
    assert "fetch-wait-not-below-request" not in found(remedy)
    assert len(requests(run(trap), "Metadata")) >= 5
    assert len(requests(run(remedy), "Metadata")) == 1


def test_the_library_has_no_other_findings() -> None:
    """Errors and warnings of all shipped scenarios: those that are their subject, and no false alarm."""
    counted: Counter[tuple[str, str]] = Counter()
    for name in names():
        for finding in lint_scenario(read_document(find(name))):
            if finding.severity != NOTE:
                counted[name, finding.rule] += 1
    assert dict(counted) == LIBRARY


def test_one_instance_id_after_the_other_is_no_finding() -> None:
    """Two processes share an instance id without a finding when the first is stopped before the second starts."""
    group = "groups: {g: {instance-id: one, members: {a: 1, b: {start: 30s}}}}\n"
    assert "shared-instance-id" in found(file(group))
    assert "shared-instance-id" not in found(file(group + "timeline: [{at: 20s, do: stop, member: a}]"))
    assert "shared-instance-id" in found(file(group + "timeline: [{at: 40s, do: stop, member: a}]"))


def test_a_rack_reaches_an_assignor_of_the_users() -> None:
    """client.rack without a selector is no finding where a coordinator has an assignor that is not Kafka's."""
    group = "groups: {g: {properties: {group.protocol: consumer, client.rack: a}, members: {c: 1}}}"
    brokers = "cluster: {brokers: 1, racks: [a]}\n"
    own = "groupsim.assignors.server.rack_first:ServerRackFirst"
    plain = brokers + file(group, version="4.4")
    assert "rack-without-selector" in found(plain)
    assert "rack-without-selector" not in found(
        plain.replace("version: '4.4'", f"version: '4.4', group.consumer.assignors: ['{own}']")
    )


def test_a_restart_that_the_scenario_times_is_not_guessed_besides() -> None:
    """One remedy, from the pod's own start time; without a timeline the usual time of a JVM."""
    group = "groups: {g: {instance-id: '{name}', properties: {session.timeout.ms: 10000}, members: {c: 2}}}"
    base = f"run-for: 3m\ntopics: {{t: 2}}\n{group}\n"
    timeline = "timeline: [{at: 60s, do: rolling-restart, kind: statefulset, start-time: 25s}]\n"
    guessed = [one.rule for one in lint_scenario(parse_document(base))]
    reported = [one.rule for one in lint_scenario(parse_document(base + timeline))]
    assert "static-session-short" in guessed
    assert "static-session-short" not in reported
    assert "static-away-longer-than-session" in reported
