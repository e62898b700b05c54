"""Rules about the members of a group: assignors, static members, number of members."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from groupsim.assignors.base.errors import AssignorError
from groupsim.assignors.registry import resolve
from groupsim.protocol.values import frozen
from groupsim.scenarios.language.problems import ERROR, NOTE, WARNING, Place
from groupsim.scenarios.lint.rule import Hit, Rule
from groupsim.scenarios.lint.rules.idle import STATIC_SINCE
from groupsim.scenarios.lint.rules.workload import about
from groupsim.scenarios.lint.view import ClientView
from groupsim.scenarios.validation.steps import AT_ONCE, DURATION_REMEDY

_STRATEGY, _INSTANCE, _SESSION = "partition.assignment.strategy", "group.instance.id", "session.timeout.ms"
_SHORT_MS, _USUAL_MS = 10_000, 60_000
_STEP = ("start-time",)
_EAGER = ("range", "roundrobin", "sticky")


@frozen
class GroupView:
    """A group of a scenario: one view for each specification, static processes, the number of members."""

    name: str
    where: Place
    views: tuple[ClientView, ...]
    #: Static processes by name, with their group.instance.id.
    instances: Mapping[str, str]
    at_once: int
    #: Member key → the longest time (µs) that a restart of the scenario keeps its process away (99th percentile).
    away_us: Mapping[str, int]
    #: The place of a rollout that renames pods without LeaveGroup.
    renamed: Place | None = None
    #: The place of a rollout without durations.
    instant_rollout: Place | None = None

    def place_of(self, keys: tuple[str, ...]) -> Place:
        """Return the place of the first of these settings of any member, else the group's; of a step, its own."""
        if keys == _STEP and self.instant_rollout is not None:
            return self.instant_rollout
        found = (view.place_of(keys) for view in self.views if any(key in view.entries for key in keys))
        return next(found, self.where)


# --- one client ------------------------------------------------------------------------------------------------


def _mixed(view: ClientView) -> Iterator[Hit]:
    """Find eager and cooperative assignors in one written list."""
    names = view.assignors
    if not view.written(_STRATEGY) or not view.classic or "cooperative-sticky" not in names:
        return
    eager = [name for name in names if name in _EAGER]
    if not eager:
        return
    message = f"`{view.name(_STRATEGY)}` mixes cooperative-sticky with {', '.join(eager)}: every rebalance is eager"
    if view.client.library == "librdkafka":
        reason = "librdkafka refuses the mixture: it cannot switch the rebalance protocol while members run"
        yield Hit((_STRATEGY,), message, "keep cooperative-sticky alone, and change all members at once", ERROR, reason)
    else:
        yield Hit((_STRATEGY,), message, "right for the first of two rolling restarts; write it alone in the second")


def _short_session(view: ClientView) -> Iterator[Hit]:
    session = view.number(_SESSION)
    since = STATIC_SINCE.get(view.client.library)
    sends = since is not None and not view.client.before(*since)
    if view.instance_id is None or not view.classic or not sends or session >= _USUAL_MS:
        return
    low = session <= _SHORT_MS
    message = f"a static member must restart within {view.shown(_SESSION)}"
    yield Hit((_SESSION, _INSTANCE), message, f"set {view.setting(_SESSION, 120_000)}", "" if low else NOTE)


# --- a group of a scenario ---------------------------------------------------------------------------------------


def _no_common(group: GroupView) -> Iterator[Hit]:
    lists = [(view.subject, _names(view.assignors)) for view in group.views]
    if len(lists) < 2 or any(not names for _, names in lists):
        return
    common = [name for name in lists[0][1] if all(name in names for _, names in lists)]
    if common:
        return
    shown = "; ".join(f"{member}: {', '.join(names)}" for member, names in _different(lists))
    remedy = f"add a common one to every list, for example {lists[0][1][0]}, in a rolling restart before the change"
    yield Hit((_STRATEGY,), f"no assignor is common to all members of `{group.name}` ({shown})", remedy)


def _names(assignors: tuple[str, ...]) -> list[str]:
    """Return the names that members send in JoinGroup; empty if one cannot be found."""
    try:
        return [resolve(name).name for name in assignors]
    except AssignorError:
        return []


def _different(lists: list[tuple[str, list[str]]]) -> list[tuple[str, list[str]]]:
    """Return one member for each list."""
    return [
        (member, names) for at, (member, names) in enumerate(lists) if names not in [other for _, other in lists[:at]]
    ]


def _shared_id(group: GroupView) -> Iterator[Hit]:
    owners: dict[str, list[str]] = {}
    for process, instance in group.instances.items():
        owners.setdefault(instance, []).append(process)
    for instance, names in owners.items():
        if len(names) > 1:
            message = f"{', '.join(names[:4])}{' …' if len(names) > 4 else ''} share group.instance.id `{instance}`"
            yield Hit((_INSTANCE,), message, "give each its own, for example instance-id: '{name}'")


def _away(group: GroupView) -> Iterator[Hit]:
    for view in group.views:
        away = group.away_us.get(view.subject, 0)
        session = view.number(_SESSION)
        if view.instance_id is not None and away > session * 1_000:
            message = f"`{view.subject}` is static and stays away up to {about(away)}, {view.shown(_SESSION)}"
            remedy = f"set {_SESSION} to {_rounded(away * 3 // 2)}"
            yield Hit((_SESSION, _INSTANCE), message, remedy)


def _renamed(group: GroupView) -> Iterator[Hit]:
    """Find static ids made of pod names, in a rollout that renames every pod."""
    for view in group.views:
        pattern = view.spec.instance_id if view.spec is not None else None
        leaves = view.client.profile.leaving.static_on_close
        if group.renamed is None or leaves or not pattern or not ("{name}" in pattern or "{n}" in pattern):
            continue
        message = f"the rollout renames its pods, so no new pod has an old id of `{pattern}`"
        remedy = "write `kind: statefulset` to keep the names, remove instance-id, or write `leave: true`"
        yield Hit((_INSTANCE,), message, remedy)


def _instant_rollout(group: GroupView) -> Iterator[Hit]:
    """Find a rollout without durations."""
    if group.instant_rollout is not None:
        yield Hit(_STEP, AT_ONCE, DURATION_REMEDY)


def _rounded(us: int) -> int:
    """Round up to the next five seconds; return milliseconds."""
    return -(-us // 5_000_000) * 5_000


def _too_many(group: GroupView) -> Iterator[Hit]:
    broker = group.views[0].broker if group.views else None
    if broker is None or not broker.written("group.max.size") or broker.before(2, 2):
        return
    most = broker.number("group.max.size")
    if group.at_once > most:
        message = f"`{group.name}` has {group.at_once} members and the broker allows {most}"
        yield Hit(("group.max.size",), message, f"set group.max.size to {group.at_once} or more, or run fewer members")


CLIENT_RULES: tuple[Rule[ClientView], ...] = (
    Rule(
        "mixed-rebalance-protocols",
        NOTE,
        "eager and cooperative assignors in one list (librdkafka: error)",
        "a member is cooperative only when all assignors of its list are",
        "KIP-429; ConsumerCoordinator; confluentinc/librdkafka#3589, #4368 (rdkafka_assignor.c)",
        _mixed,
    ),
    Rule(
        "static-session-short",
        WARNING,
        "static membership with a session shorter than a restart (60 s and less: note)",
        "after the session the broker removes the member and the group rebalances, as with dynamic members; a JVM is "
        "ready in 20 to 90 s",
        "KIP-345; user needs, section 4.1",
        _short_session,
    ),
)
GROUP_RULES: tuple[Rule[GroupView], ...] = (
    Rule(
        "no-common-assignor",
        ERROR,
        "members of one group without an assignor in common",
        "the broker answers INCONSISTENT_GROUP_PROTOCOL to the second member",
        "classic protocol, JoinGroup; confluentinc/confluent-kafka-go#605",
        _no_common,
    ),
    Rule(
        "shared-instance-id",
        ERROR,
        "one group.instance.id for several members",
        "each member that joins fences the one before (FENCED_INSTANCE_ID)",
        "KIP-345; twmb/franz-go#931",
        _shared_id,
    ),
    Rule(
        "static-away-longer-than-session",
        WARNING,
        "static members that are restarted for longer than their session",
        "the broker removes them at the end of the session: two rebalances, as without static membership",
        "KIP-345; PostHog/posthog#65809; grafana/tempo#6575",
        _away,
    ),
    Rule(
        "static-id-renamed",
        WARNING,
        "static ids that change with every rollout",
        "old ids do not leave: their partitions have no consumer until the session ends, and then the group rebalances",
        "KIP-345; PostHog/posthog#65809; grafana/tempo#6575",
        _renamed,
    ),
    Rule(
        "rollout-in-no-time",
        WARNING,
        "a rollout without start-time, ready-time and stop-time",
        "pods that end and start in one instant cause one rebalance or two; a real rollout causes one rebalance "
        "or more for each pod",
        "Kubernetes: Deployment, StatefulSet; user needs, section 4.1",
        _instant_rollout,
    ),
    Rule(
        "group-above-max-size",
        WARNING,
        "more members than group.max.size",
        "the broker answers GROUP_MAX_SIZE_REACHED to the member above the limit, and its poll() throws",
        "KIP-389; apache/kafka#6163",
        _too_many,
    ),
)
