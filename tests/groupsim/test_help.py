"""help() of public objects: each field is described, and no signature is a page long."""

from __future__ import annotations

import inspect

import pytest
from attrs import fields_dict

from groupsim import Behaviour, Consumer, Run, Simulation, Story, TraceEvent
from groupsim.control import Control, Served
from groupsim.coordinator.base.snapshot import GroupSnapshot, MemberSnapshot
from groupsim.coordinator.testing import Bench
from groupsim.scenarios.story.model import Generation, GroupStory

HELD = [Behaviour, Run, Story, GroupStory, Generation, GroupSnapshot, MemberSnapshot, TraceEvent]
MADE = [Bench, Consumer, Control, Served, Simulation]


@pytest.mark.parametrize("cls", HELD)
def test_every_field_is_described(cls: type) -> None:
    """The docstring names each field, so that help() has more than its type; self-explanatory names are exempt."""
    words = set((inspect.getdoc(cls) or "").replace(",", " ").replace(":", " ").replace("`", " ").split())
    names = list(getattr(cls, "_fields", None) or fields_dict(cls))
    plain = {"group", "outcome", "leader", "protocol", "duration_us", "told"}  # `Run.told` is described by its comment
    assert [name for name in names if name not in words | plain] == []


@pytest.mark.parametrize("cls", MADE)
def test_a_signature_is_read_at_a_glance(cls: type) -> None:
    """No default value is shown as the hundreds of fields that it has."""
    assert len(str(inspect.signature(cls))) < 700
