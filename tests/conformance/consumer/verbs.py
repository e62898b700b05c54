"""What happens around the members of a script: waiting for a state of the group, changes of topics and of settings.

None of it stands in the transcript.
"""

from __future__ import annotations

from functools import partial

from tests.conformance.basics import Mark, ScriptFailed, Topic, in_time
from tests.conformance.bodies import Body
from tests.conformance.script import Script

HEARD_MS = 600
"""After so long a coordinator has heard of a topic that changed."""
_GROUP_CONFIG, _SET, _DELETE = 32, 0, 1


def _is_there(state: str | None, members: int | None, epoch: int | None, answer: Body) -> bool:
    (group,) = answer["groups"]
    if group["error_code"] != "NONE":
        return bool(state == group["error_code"])
    there = state in (None, group["group_state"]) and members in (None, len(group["members"]))
    return bool(there and (epoch is None or group["group_epoch"] >= epoch))


async def until(
    s: Script,
    state: str | None = None,
    members: int | None = None,
    *,
    epoch: int | None = None,
    due: tuple[int, Mark] | None = None,
) -> Mark:
    """Wait until ConsumerGroupDescribe shows that state, so many members, at least that group epoch.

    `due`: so many ms after that mark. Raises TimingFailed.
    """
    body: Body = {"group_ids": [s.group], "include_authorized_operations": False}
    began_us = s.peer.now_us
    await s.awaited("ConsumerGroupDescribe", 0, body, partial(_is_there, state, members, epoch))
    now = s.peer.now_us
    if due is not None:
        in_time(f"{s.id}: {state} with {members} members", now, *due)
    return Mark(began_us, now)


async def grow(s: Script, topic: Topic, partitions: int) -> None:
    """A topic has more partitions, and the coordinator has heard of it."""
    one = {"name": topic.name, "count": partitions, "assignments": None}
    await _ask(s, "CreatePartitions", 3, {"topics": [one], "timeout": 20_000, "validate_only": False})
    await s.sleep(HEARD_MS)


async def deleted(s: Script, topic: Topic) -> None:
    """A topic is gone, and the coordinator has heard of it."""
    await s.delete_topic(topic)
    await s.sleep(HEARD_MS)


async def made(s: Script, suffix: str = "", partitions: int = 1) -> Topic:
    """A topic is made, and the coordinator has heard of it."""
    topic = await s.topic(suffix, partitions)
    await s.sleep(HEARD_MS)
    return topic


async def configure(s: Script, name: str, value: int | None, *, error: str = "NONE") -> None:
    """A setting of the group, from now on; None: the broker's. Raises ScriptFailed for another error."""
    one = {"name": name, "config_operation": _SET if value is not None else _DELETE}
    one["value"] = None if value is None else str(value)
    resource = {"resource_type": _GROUP_CONFIG, "resource_name": s.group, "configs": [one]}
    answer = await _ask(s, "IncrementalAlterConfigs", 1, {"resources": [resource], "validate_only": False})
    if answer["responses"][0]["error_code"] != error:
        raise ScriptFailed(f"{s.id}: {name}={value}: expected {error}, got {answer}")
    s.note(f"{name} {value}", answer["responses"][0]["error_message"])
    if error == "NONE":
        asked = {"resource_type": _GROUP_CONFIG, "resource_name": s.group, "configuration_keys": [name]}
        body = {"resources": [asked], "include_synonyms": False, "include_documentation": False}
        await s.awaited("DescribeConfigs", 4, body, partial(_is_set, value))
    await s.sleep(HEARD_MS)


_OF_THE_GROUP = 8


def _is_set(value: int | None, answer: Body) -> bool:
    """Whether the group has this value of its own; None: whether it has none."""
    own = [one["value"] for one in answer["results"][0]["configs"] if one["config_source"] == _OF_THE_GROUP]
    return own == ([] if value is None else [str(value)])


async def _ask(s: Script, api: str, version: int, body: Body) -> Body:
    return await s.awaited(api, version, body, lambda answer: True)
