"""Describe a step in words and as data, for the trace."""

from __future__ import annotations

from typing import Any

from attrs import has

from groupsim.eventloop.distributions import Distribution
from groupsim.eventloop.units import show_us
from groupsim.scenarios.language.acls import AclSpec
from groupsim.scenarios.language.keys import fields_of
from groupsim.scenarios.language.registry import StepAction
from groupsim.scenarios.language.targets import RequestTarget
from groupsim.scenarios.language.values import Bounds, Duration, Rate, Share


def describe_action(action: StepAction) -> str:
    """Return the step in words: `crash c2`, `pause c1: for 12.000 s`."""
    whom = getattr(action, "member", None) or getattr(action, "topic", None)
    head = f"{action.NAME} {', '.join(whom) if isinstance(whom, tuple) else whom}" if whom else action.NAME
    rest = {name: text for name, text in _own_keys(action).items() if name not in _LEFT_OUT and text != ""}
    shown = [_worded(name, text) for name, text in rest.items()]
    return head + (": " + ", ".join(shown) if shown else "")


def _worded(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return name if value else f"no {name}"
    if name == "properties" and isinstance(value, dict):
        return ", ".join(f"{key} {'reset' if one is None else one}" for key, one in value.items())
    return str(value) if name == "acls" else f"{name} {value}"


_LEFT_OUT = ("member", "topic", "start-time", "ready-time", "stop-time", "downtime", "leave", "offsets", "fields")


def action_payload(action: StepAction) -> dict[str, Any]:
    """Return the step as plain data: its name and the keys that differ from their defaults."""
    return {"do": action.NAME, **_own_keys(action)}


def _own_keys(action: StepAction) -> dict[str, Any]:
    """Return the keys that differ from their defaults, as a file could hold them."""
    found: dict[str, Any] = {}
    for name, field in fields_of(type(action)).items():
        value = getattr(action, field.name)
        if value is not None and value != field.default:
            found[name] = _plain(value, field.type)
    return found


def _plain(value: Any, wanted: Any) -> Any:
    if isinstance(value, Distribution):
        return value.spec
    if isinstance(value, Share):
        return f"{value.amount}%" if value.percent else value.amount
    if isinstance(value, (Rate, RequestTarget, Bounds)):
        return value.text
    if wanted in (Duration, Duration | None):
        return show_us(value)
    if isinstance(value, tuple) and value and isinstance(value[0], AclSpec):
        return "; ".join(map(str, value))
    if isinstance(value, tuple):
        return [_plain(item, None) for item in value]
    if isinstance(value, dict):
        return {str(name): _plain(item, None) for name, item in value.items()}
    return str(value) if has(type(value)) else value
