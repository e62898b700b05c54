"""Rules about who is in a group: assignors, static members, how many there are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from attrs import frozen

from groupsim.assignors.base.errors import AssignorError
from groupsim.assignors.registry import resolve
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
    """A group of a scenario: one view for each specification, static processes, how many run at once."""

    name: str
    where: Place
    views: tuple[ClientView, ...]
    #: Static processes by name, with their group.instance.id.
    instances: Mapping[str, str]
    at_once: int
    #: Member key → the longest a process of it stays away when the scenario restarts it, in µs (99 of 100 times).
    away_us: Mapping[str, int]
    #: Where a rollout replaces its pods by pods of other names, without telling them to leave.
    renamed: Place | None = None
    #: Where a rollout of the group stands that takes no time.
    at_a_stroke: Place | None = None

    def place_of(self, keys: tuple[str, ...]) -> Place:
        """Where the first of these settings was written for any of the members, else the group; or a step stands."""
        if keys == _STEP and self.at_a_stroke is not None:
            return self.at_a_stroke
        found = (view.place_of(keys) for view in self.views if any(key in view.entries for key in keys))
        return next(found, self.where)


# --- one client ------------------------------------------------------------------------------------------------


def _mixed(view: ClientView) -> Iterator[Hit]:
    """Eager and cooperative assignors in one written list."""
    names = view.assignors
    if not view.written(_STRATEGY) or not view.classic or "cooperative-sticky" not in names:
        return
    eager = [name for name in names if name in _EAGER]
    if not eager:
        return
    message = f"`{view.name(_STRATEGY)}` mixes cooperative-sticky with {', '.join(eager)}: every rebalance stops all"
    if view.client.library == "librdkafka":
        reason = "librdkafka refuses the mixture: it cannot switch the rebalance protocol while members run"
        yield Hit((_STRATEGY,), message, "keep cooperative-sticky alone, and change all members at once", ERROR, reason)
    else:
        yield Hit((_STRATEGY,), message, "right for the first of two rolling restarts; in the second keep it alone")


def _short_session(view: ClientView) -> Iterator[Hit]:
    session = view.number(_SESSION)
    since = STATIC_SINCE.get(view.client.library)
    sends = since is not None and not view.client.before(*since)
    if view.instance_id is None or not view.classic or not sends or session >= _USUAL_MS:
        return
    low = session <= _SHORT_MS
    message = f"a static member must be back within {view.shown(_SESSION)}"
    yield Hit((_SESSION, _INSTANCE), message, f"set {view.say(_SESSION, 120_000)}", "" if low else NOTE)


# --- a group of a scenario ---------------------------------------------------------------------------------------


def _no_common(group: GroupView) -> Iterator[Hit]:
    lists = [(view.subject, _names(view.assignors)) for view in group.views]
    if len(lists) < 2 or any(not names for _, names in lists):
        return
    common = [name for name in lists[0][1] if all(name in names for _, names in lists)]
    if common:
        return
    shown = "; ".join(f"{who}: {', '.join(names)}" for who, names in _different(lists))
    remedy = f"add one they share to every list, for example {lists[0][1][0]}, in a rolling restart before the change"
    yield Hit((_STRATEGY,), f"no assignor is common to all members of `{group.name}` ({shown})", remedy)


def _names(assignors: tuple[str, ...]) -> list[str]:
    """The names members say in JoinGroup; empty when one cannot be found."""
    try:
        return [resolve(name).name for name in assignors]
    except AssignorError:
        return []


def _different(lists: list[tuple[str, list[str]]]) -> list[tuple[str, list[str]]]:
    """One member for each list."""
    return [(who, names) for at, (who, names) in enumerate(lists) if names not in [other for _, other in lists[:at]]]


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
    """Static ids made of pod names, in a rollout that gives every pod a new name."""
    for view in group.views:
        pattern = view.spec.instance_id if view.spec is not None else None
        leaves = view.client.profile.leaving.static_on_close
        if group.renamed is None or leaves or not pattern or not ("{name}" in pattern or "{n}" in pattern):
            continue
        message = f"the rollout renames its pods, so `{pattern}` never comes back"
        remedy = "write `kind: statefulset` and keep the names, leave instance-id out, or write `leave: true`"
        yield Hit((_INSTANCE,), message, remedy)


def _at_a_stroke(group: GroupView) -> Iterator[Hit]:
    """A rollout of which nobody says how long a pod takes."""
    if group.at_a_stroke is not None:
        yield Hit(_STEP, AT_ONCE, DURATION_REMEDY)


def _rounded(us: int) -> int:
    """Milliseconds, up to the next five seconds."""
    return -(-us // 5_000_000) * 5_000


def _too_many(group: GroupView) -> Iterator[Hit]:
    broker = group.views[0].broker if group.views else None
    if broker is None or not broker.written("group.max.size") or broker.before(2, 2):
        return
    most = broker.number("group.max.size")
    if group.at_once > most:
        message = f"`{group.name}` has {group.at_once} members and the broker takes {most}"
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
        "after it the broker removes the member and the group rebalances, as if it were dynamic; a JVM is ready in "
        "20 to 90 s",
        "KIP-345; user needs, section 4.1",
        _short_session,
    ),
)
GROUP_RULES: tuple[Rule[GroupView], ...] = (
    Rule(
        "no-common-assignor",
        ERROR,
        "members of one group without an assignor in common",
        "the broker answers INCONSISTENT_GROUP_PROTOCOL to whoever comes second",
        "classic protocol, JoinGroup; confluentinc/confluent-kafka-go#605",
        _no_common,
    ),
    Rule(
        "shared-instance-id",
        ERROR,
        "one group.instance.id for several members",
        "each that joins fences the one before (FENCED_INSTANCE_ID)",
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
        "old ids do not leave: their partitions stand still until the session ends, then the group rebalances anyway",
        "KIP-345; PostHog/posthog#65809; grafana/tempo#6575",
        _renamed,
    ),
    Rule(
        "rollout-in-no-time",
        WARNING,
        "a rollout without start-time, ready-time and stop-time",
        "pods that end and start in one instant look like one rebalance or two: what a rollout costs, one rebalance "
        "or more for each pod, is not seen",
        "Kubernetes: Deployment, StatefulSet; user needs, section 4.1",
        _at_a_stroke,
    ),
    Rule(
        "group-above-max-size",
        WARNING,
        "more members than group.max.size",
        "the broker answers GROUP_MAX_SIZE_REACHED to the one too many, and its poll() throws",
        "KIP-389; apache/kafka#6163",
        _too_many,
    ),
)
