"""The steps of the control port, read by the loader's own code.

A body is a step of the scenario format as JSON, without `at` (it runs now): `{"do": "move-coordinator", "group":
"g"}`, or `{"fault": "answer-error", "to": "next SyncGroup of app", "is": "REBALANCE_IN_PROGRESS"}`. A fault may have
a filter of its targets (`Aim`), because real clients have names that the scenario does not contain.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

from attrs import evolve

from groupsim.cluster.network import faults as net
from groupsim.cluster.network.link_faults import CLIENTS
from groupsim.protocol.messages.group import Api
from groupsim.protocol.values import frozen
from groupsim.scenarios.language.document import Document
from groupsim.scenarios.language.keys import fields_of, key
from groupsim.scenarios.language.mistakes import Collector, Several, Wrong, paths_of, problems_of
from groupsim.scenarios.language.plain_data import Decimalish
from groupsim.scenarios.language.problems import suggest
from groupsim.scenarios.language.registry import StepAction
from groupsim.scenarios.language.structure import structure
from groupsim.scenarios.language.targets import Broker, Processes
from groupsim.scenarios.language.values import API_NAMES, ApiName, Positive, quote
from groupsim.scenarios.loading import converters  # noqa: F401  (fills the registries)
from groupsim.scenarios.steps.faults import OnLinks, OnMessages
from groupsim.scenarios.validation.references import wrong_in
from groupsim.serving.live_actions import live_actions, live_faults
from groupsim.serving.problems import Problem, invalid
from groupsim.serving.stage import LiveStage

_APIS = {api.title: api for api in Api}
_NAMED = {name.casefold(): name for name in API_NAMES}
Times = Positive | Literal["every"]


@frozen(kw_only=True)
class Aim:
    """The filter of a fault's targets; an absent field matches everything."""

    client_id: str | None = key("client.id of the client, or a pattern of it.", None)
    member_id: str | None = key("Member id that the request carries, or a pattern of it.", None)
    group: str | None = key("Group that the request is about.", None)
    api: ApiName | None = key("API of the request, as `SyncGroup`; in place of `to`.", None)
    nth: Positive | None = key("The number of the matching request, counted from now on; 1 is the next.", None)
    times: Times | None = key("The number of hits: a number, or `every`; 1 unless `to` contains every.", None)
    broker: Broker | None = key("Only on connections to this broker.", None)
    connection: str | None = key("Only on connections for this: coordinator, data, admin …", None)


@frozen
class RequestedFault:
    """A requested fault: its class, and the filter of its targets."""

    action: StepAction
    aim: Aim


def parse(body: bytes) -> dict[str, Any]:
    """Return the object in a body. Raises Problem (400)."""
    try:
        data = json.loads(body or b"", parse_float=Decimalish)
    except (ValueError, RecursionError) as error:
        raise Problem(400, "the body is not JSON", str(error), remedy='send {"do": …} or {"fault": …}') from None
    if not isinstance(data, dict):
        raise Problem(400, "the body is not a JSON object", f"found {quote(data)}", remedy='send {"do": …}')
    return data


def read_action(data: Mapping[str, Any], stage: LiveStage) -> StepAction:
    """Return the action of a body. Raises Problem (422) with each wrong key and the nearest known one."""
    cls = _named(data, "do", live_actions(), live_faults(), "/faults")
    action: StepAction = _checked(data, lambda: structure(_own(data, "do"), cls))
    _names(data, action, stage, named=())
    return action


def read_fault(data: Mapping[str, Any], stage: LiveStage) -> RequestedFault:
    """Return the fault of a body. Raises Problem (422) as `read_action`."""
    cls = _named(data, "fault", live_faults(), live_actions(), "/actions")
    own, aimed = _parted(_own(data, "fault"), cls)

    def both() -> RequestedFault:
        collector = Collector()
        for name in _strange(own, cls):
            remedy = suggest(name, [*fields_of(cls), *fields_of(Aim)], "keys here")
            collector.add(Wrong(f"unknown key `{name}`", remedy, below=(name,), at_key=True))
            del own[name]
        action = collector.attempt((), structure, own, cls)
        aim = collector.attempt((), structure, aimed, Aim)
        collector.done()
        return RequestedFault(action, aim)

    requested: RequestedFault = _checked(data, both)
    action = requested.action
    named = (action.to.member,) if isinstance(action, OnMessages) else tuple(getattr(action, "member", None) or ())
    _names(data, action, stage, named=named)
    return requested


def _own(data: Mapping[str, Any], head: str) -> dict[str, Any]:
    return {name: value for name, value in data.items() if name != head}


def _parted(data: dict[str, Any], cls: type[StepAction]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a fault's own keys, and those of the filter; `to` and `member` may be left to the latter."""
    if not issubclass(cls, OnMessages | OnLinks):
        return data, {}
    theirs = fields_of(cls)
    aimed = {name: value for name, value in data.items() if name in fields_of(Aim) and name not in theirs}
    own = {name: value for name, value in data.items() if name not in aimed}
    if issubclass(cls, OnMessages) and "to" not in own and aimed:
        api = str(aimed.get("api")).casefold()
        own["to"] = f"next {_NAMED.get(api, 'Heartbeat')} of all"  # a wrong one is reported as `api` only
    if issubclass(cls, OnLinks) and "member" not in own and "client-id" in aimed:
        own["member"] = aimed["client-id"]
    return own, aimed


def _strange(own: Mapping[str, Any], cls: type[StepAction]) -> list[str]:
    """Return keys that a fault with a filter does not have: the nearest one may be one of the filter's."""
    return [name for name in own if name not in fields_of(cls)] if issubclass(cls, OnMessages | OnLinks) else []


def _named(
    data: Mapping[str, Any], head: str, known: Mapping[str, type[StepAction]], others: Mapping[str, Any], there: str
) -> type[StepAction]:
    """Return the class that a body names."""
    name = data.get(head)
    for timing in ("at", "every"):
        if timing in data:
            raise _at(data, Wrong(f"`{timing}` has no meaning here", "a step here runs now", below=(timing,)))
    if head not in data:
        other = "fault" if head == "do" else "do"
        hint = f"send it to {there}" if other in data else f"write {{{json.dumps(head)}: …}}"
        raise _at(data, Wrong(f"the key `{head}` is missing", hint))
    if isinstance(name, str) and name in known:
        return known[name]
    if isinstance(name, str) and name in others:
        other = "fault" if head == "do" else "do"
        raise _at(
            data, Wrong(f"{quote(name)} is no `{head}`", f'send {{"{other}": "{name}"}} to {there}', below=(head,))
        )
    raise _at(data, Wrong(f"{quote(name)} is not known", suggest(str(name), known), below=(head,)))


def _names(data: Mapping[str, Any], action: StepAction, stage: LiveStage, named: tuple[str, ...]) -> None:
    """Raise Problem for names in a step that nothing has; a group need not exist yet."""
    known = stage.known(named=named)
    group = getattr(action, "group", None)
    if isinstance(group, str):
        known = evolve(known, groups=(*known.groups, group))
    wrong = [(path, mistake) for path, mistake in wrong_in(action, known) if not _is_role_of(mistake)]
    if wrong:
        raise _problem(data, Several(wrong))  # type: ignore[arg-type]


def _is_role_of(mistake: Wrong) -> bool:
    """Whether a role has no group, or one that does not exist yet: the step itself gives the better error."""
    return mistake.message.startswith(("which group", "there is no group")) or "of which group" in mistake.message


def _checked(data: Mapping[str, Any], read: Any) -> Any:
    try:
        return read()
    except ValueError as error:
        raise _problem(data, error) from None


def _at(data: Mapping[str, Any], mistake: Wrong) -> Problem:
    return _problem(data, mistake)


def _problem(data: Mapping[str, Any], error: ValueError) -> Problem:
    found = problems_of(error, Document("the body", data, {}, {}))
    pointers = ["".join(f"/{part}" for part in path) for path in paths_of(error)]
    return invalid([(pointer, one.message, one.remedy) for pointer, one in zip(pointers, found, strict=True)])


# --- targets of a fault -------------------------------------------------------------------------------------------


def begin(requested: RequestedFault, stage: LiveStage) -> None:
    """Begin a fault; the stage stores the faults of the network.

    Raises ValueError or LookupError when its target is unknown now.
    """
    action, aim = requested.action, requested.aim
    if isinstance(action, OnMessages):
        stage.inject(action.of(_messages(action, aim, stage)))
    elif isinstance(action, OnLinks):
        for fault in action.on(_links(action, aim, stage)):
            stage.inject(fault)
    else:
        stage.carry_out(action)


def _messages(action: OnMessages, aim: Aim, stage: LiveStage) -> net.Match:
    target = action.to
    given = isinstance(aim.api, str) or target.text != "next Heartbeat of all"
    whom = stage.member_with_role(target.member)
    host = None if whom is not None or target.member in ("all", "*") else target.member
    every = target.nth == 0 and aim.times is None
    times = None if every or aim.times == "every" else int(aim.times or 1)
    return net.Match(
        host=host,
        peer=None if aim.broker is None else stage.broker_host(aim.broker),
        group=aim.group or (whom[0].group_id if whom is not None else None),
        purpose=aim.connection or CLIENTS,
        client_id=aim.client_id,
        member_id=aim.member_id or (whom[1].member_id if whom is not None else None),
        api=_APIS[aim.api or target.api] if given else None,
        nth=aim.nth or max(target.nth, 1),
        times=times,
    )


def _links(action: OnLinks, aim: Aim, stage: LiveStage) -> list[net.Match]:
    peer = None if action.broker is None else stage.broker_host(action.broker)
    purpose = action.connection or CLIENTS
    targets = Processes((aim.client_id,)) if aim.client_id is not None else action.member
    hosts: dict[str, None] = {}
    for target in targets:
        hosts.update(dict.fromkeys(_hosts(target, stage, by_client_id=aim.client_id is not None)))
    return [net.Match(host=host, peer=peer, purpose=purpose) for host in hosts]


def _hosts(target: str, stage: LiveStage, *, by_client_id: bool) -> list[str]:
    if by_client_id:
        return stage.hosts_of_client(target)
    whom = stage.member_with_role(target)
    if whom is not None:
        return stage.hosts_of_member(whom[1])
    return ["*"] if target == "all" else [target]
