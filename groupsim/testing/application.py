"""A member's application from the arguments of a test: fields of `Behaviour`, assignors, partitions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from attrs import fields_dict

from groupsim.assignors import Assignor
from groupsim.assignors.registry import instance_of, resolve
from groupsim.eventloop.distributions import Distribution, parse_distribution
from groupsim.members.behaviour import Behaviour, CommitPolicy, Stuck
from groupsim.members.keys import CONSUMER_KEYS
from groupsim.members.profiles.profile import OnError
from groupsim.members.settings import ConsumerSettings
from groupsim.scenarios.language.problems import suggest

if TYPE_CHECKING:
    from groupsim.members.producer.eos import ExactlyOnce

_Stuck = Stuck | Literal["never-heartbeat", "never-sync", "never-rejoin"]
#: An assignor as a test names it: a name, or a class.
Strategy = str | type[Assignor]

_Time = Distribution | str | None

__tracebackhide__ = True  # an error is reported at the line of the test


class Application(TypedDict, total=False):
    """Fields of `Behaviour` as a test writes them: distributions and choices may be text."""

    processing: _Time
    per_batch: _Time
    poll_timeout: _Time
    poll_gap: _Time
    on_assigned: _Time
    on_revoked: _Time
    on_lost: _Time
    assignor_time: _Time
    commit: CommitPolicy | Literal["auto", "sync-after-batch", "async-after-batch", "on-revoke", "never"]
    on_error: OnError | Literal["stop", "retry"]
    error_pause_us: int
    on_commit_failure: OnError | Literal["stop", "retry"]
    enforce_rebalance_every: _Time
    stuck: _Stuck | Sequence[_Stuck] | frozenset[Stuck]
    push_buffer: int | None
    exactly_once: ExactlyOnce | None


_CHOICES: dict[str, type[StrEnum]] = {
    "commit": CommitPolicy,
    "on_error": OnError,
    "on_commit_failure": OnError,
    "stuck": Stuck,
}
_NUMBERS = {"error_pause_us", "push_buffer"}


#: Keys of scenario files that are settings here, and arguments of `sim.member` besides behaviour.
_AS_IN_FILES = {"instance_id": "group.instance.id"}
_BESIDES = ("topics", "pattern", "client", "assignors", "start", "properties", "plugin_errors")


def behaviour_of(fields: Mapping[str, object]) -> Behaviour:
    """Build the application's behaviour. Raises ValueError with the nearest name for an unknown field or value."""
    for name in fields:
        setting = _AS_IN_FILES.get(name, name.replace("_", "."))
        if name not in fields_dict(Behaviour) and setting in CONSUMER_KEYS:
            raise ValueError(f"{name} is a setting: properties={{{setting!r}: {fields[name]!r}}}")
    for name in fields:
        if name not in fields_dict(Behaviour):
            every = [*fields_dict(Behaviour), *_BESIDES]
            raise ValueError(f"no field of a member's behaviour {name!r}; {suggest(name, every)}")
    return Behaviour(**{name: _value(name, value) for name, value in fields.items()})


def _value(name: str, value: Any) -> Any:
    choices = _CHOICES.get(name)
    if choices is not None:
        chosen = [_choice(name, choices, one) for one in _several(value)]
        return frozenset(chosen) if name == "stuck" else chosen[0]
    if name in _NUMBERS or value is None or name == "exactly_once":
        return value
    if isinstance(value, str):
        return parse_distribution(value)
    if not isinstance(value, Distribution):
        raise ValueError(f"{name}={value!r} has no unit: write a distribution, such as '5ms' or 'uniform(1s, 30s)'")
    return value


def _several(value: Any) -> Sequence[Any]:
    return (value,) if isinstance(value, str) else tuple(value)


def _choice(name: str, choices: type[StrEnum], value: Any) -> StrEnum:
    try:
        return choices(value)
    except ValueError:
        names = [one.value for one in choices]
        raise ValueError(f"{name}={value!r}; {suggest(str(value), names, 'it may be')}") from None


def assignors_of(strategies: Sequence[Strategy]) -> Callable[[ConsumerSettings], Sequence[Assignor]]:
    """Return a factory that makes new assignors for a member. The factory raises AssignorError for other objects."""

    def make(_: ConsumerSettings) -> Sequence[Assignor]:
        return tuple(resolve(one) if isinstance(one, str) else instance_of(one) for one in strategies)

    return make


def names_of(strategies: Sequence[Strategy]) -> str:
    """Return the assignors as the value of `partition.assignment.strategy`."""
    return ",".join(one if isinstance(one, str) else str(getattr(one, "name", one)) for one in strategies)
