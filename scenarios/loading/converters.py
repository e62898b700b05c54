"""Structure the three shapes of a file that are not plain classes: steps, expectations, brokers' settings.

A step is `{at: 30s, do: crash, member: c2}`: the timing, the name of an action or fault, and its own keys. An
expectation is a mapping with the check as its key: `{generations: 3, because: …}`. The brokers' settings hold Kafka's
own keys beside `version`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import attrs

from groupsim.protocol.values import frozen
from groupsim.scenarios.expectations import (
    consumer_checks,
    event_checks,
    expectations,
    fetch_checks,
    invariant_check,
    order_checks,
    record_checks,
)
from groupsim.scenarios.language.data_values import BrokerProperties
from groupsim.scenarios.language.defects import BrokerDefects
from groupsim.scenarios.language.keys import key, required
from groupsim.scenarios.language.mistakes import Collector, Wrong
from groupsim.scenarios.language.model import BrokerRelease, BrokerSettings, Expectation, Scenario, Step
from groupsim.scenarios.language.problems import suggest
from groupsim.scenarios.language.registry import CHECKS, Check, StepAction, step_actions
from groupsim.scenarios.language.structure import converter, structure
from groupsim.scenarios.language.synonyms import suggest_word
from groupsim.scenarios.language.values import Duration, Moment, Positive, Properties, Version, quote
from groupsim.scenarios.runtime import autoscaling
from groupsim.scenarios.steps import actions, broker_rollout, faults, stuck

# these modules register their classes when they are imported
_REGISTERED = (
    actions,
    autoscaling,
    broker_rollout,
    stuck,
    faults,
    expectations,
    record_checks,
    order_checks,
    fetch_checks,
    event_checks,
    invariant_check,
    consumer_checks,
)


@frozen
class Timing:
    """The time of a step, and its repetition."""

    at: Moment | Literal["never"] = key("Time since the start of the run; `never` if an experiment sets the time.")
    every: Duration | None = key("Repeat at this interval.", None)
    times: Positive | None = key("How often in all; by default until the run ends.", None)


def structure_scenario(data: Any) -> Scenario:
    """Structure a whole scenario. Raises errors that `problems_of` reads."""
    scenario: Scenario = structure(data, Scenario)
    return scenario


def structure_action(name: str, params: Mapping[str, Any]) -> StepAction:
    """Structure an action or fault from its name and keys."""
    action: StepAction = structure(dict(params), step_actions()[name])
    return action


def structure_check(name: str, value: Any) -> Check:
    """Structure an expectation from its name and value; `true` means no keys."""
    cls = CHECKS[name]
    check: Check = structure({} if value is True and not required(cls) else value, cls)
    return check


#: Stands in place of a step or an expectation that cannot be read; it has no effect.
NOTHING = object()


def _step(data: Any, _: Any) -> Step:
    if data is NOTHING:
        return Step(action=StepAction(), at=Moment(0))
    if isinstance(data, dict) and "do" not in data and data.get("fault", data.get("action")) in step_actions():
        key = "fault" if "fault" in data else "action"
        raise Wrong(f"a step has no key `{key}`", f"write `do: {data[key]}`", below=(key,))
    if not isinstance(data, dict) or "do" not in data:
        raise Wrong("a step needs the keys `at` and `do`", "write `- {at: 30s, do: crash, member: c2}`")
    name, known = data["do"], step_actions()
    if not isinstance(name, str) or name not in known:
        raise Wrong(f"{quote(name)} is neither an action nor a fault", suggest_word(str(name), known), below=("do",))
    timing = {name: data[name] for name in _TIMING if name in data}
    own = {name: value for name, value in data.items() if name != "do" and name not in _TIMING}
    collector = Collector()
    when = collector.attempt((), structure, timing, Timing)
    action = collector.attempt((), structure_action, name, own)
    collector.done()
    return Step(action=action, at=when.at, every=when.every, times=when.times)


_TIMING = tuple(field.name for field in attrs.fields(Timing))


def _expectation(data: Any, _: Any) -> Expectation:
    if data is NOTHING:
        return Expectation(Check())
    data = {data: None} if isinstance(data, str) else data
    names = [name for name in data if name != "because"] if isinstance(data, dict) else []
    if len(names) != 1:
        raise Wrong("an expectation has one check, and optionally `because`", "write `- generations: 3`")
    name = names[0]
    if name not in CHECKS:
        raise Wrong(f"unknown expectation `{name}`", suggest(name, CHECKS), below=(name,), at_key=True)
    collector = Collector()
    check = collector.attempt((name,), structure_check, name, data[name])
    because = collector.attempt(("because",), structure, data["because"], str) if "because" in data else None
    collector.done()
    return Expectation(check, because)


_RELEASES: Any = Mapping[str, BrokerRelease]


def _broker(data: Any, _: Any) -> BrokerSettings:
    if data is None:
        return BrokerSettings()
    if not isinstance(data, dict):
        raise Wrong(f"expected the brokers' settings, found {quote(data)}", "write `version: 3.9` and Kafka's own keys")
    collector = Collector()
    version = collector.attempt(("version",), structure, data["version"], Version) if "version" in data else None
    defects = collector.attempt(("defects",), structure, data["defects"], BrokerDefects) if "defects" in data else None
    releases = collector.attempt(("brokers",), structure, data["brokers"], _RELEASES) if "brokers" in data else None
    own = ("version", "properties", "defects", "brokers")
    rest = {name: value for name, value in data.items() if name not in own}
    settings = collector.attempt((), structure, rest, Properties)
    below = {}
    if "properties" in data:
        below = collector.attempt(("properties",), structure, data["properties"], BrokerProperties)
    collector.done()
    return BrokerSettings(version, Properties({**below, **settings}), defects, releases or {})


for _cls, _hook in ((Step, _step), (Expectation, _expectation), (BrokerSettings, _broker)):
    converter().register_structure_hook(_cls, _hook)
