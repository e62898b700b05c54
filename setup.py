"""List the packages: each room of `package-dir` in pyproject.toml, and every package below it.

setuptools looks for packages in folders of the same name only, and `groupsim.cluster` is the folder `cluster`.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

from setuptools import find_packages, setup

ROOMS: dict[str, str] = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]["package-dir"]

setup(packages=[*ROOMS, *(f"{room}.{name}" for room, folder in ROOMS.items() for name in find_packages(folder))])
