"""Releases of Python libraries, each in a folder of its own in the user's cache.

pip puts them there, without a word to the environment that runs the tests, which may have another release.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import kafka_jars

_PIP = ("-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps", "--no-compile")
_SECONDS = 120


def installed(library: str, version: str) -> Path:
    """Where a release lies; it is there whole or not at all. Raises `kafka_jars.Unavailable`."""
    folder = kafka_jars.cache().with_name("python") / f"{library}-{version}"
    if not folder.exists():
        made = folder.with_name(f"{folder.name}.{os.getpid()}")
        asked = [sys.executable, *_PIP, "--target", str(made), f"{library}=={version}"]
        done = subprocess.run(asked, capture_output=True, text=True, timeout=_SECONDS, check=False)
        if done.returncode:
            raise kafka_jars.Unavailable(f"pip cannot install {library} {version}: {done.stderr.strip()[-200:]}")
        made.rename(folder)
    return folder
