"""The pytest plugin: fixtures to build a cluster, groups and members in a few lines, in virtual time."""

from __future__ import annotations
