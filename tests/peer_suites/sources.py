"""The sources of the peer suites, from package registries into the user's cache folder.

Nothing of them is a part of this repository. A registry's own client fetches them (`go mod download`, `npm pack`); an
sdist is found through the package index's JSON, since pip builds what it downloads. `PIP_INDEX_URL` names another
index.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tarfile
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import kafka_jars

SECONDS = 600


class Unavailable(Exception):
    """A suite cannot be had here; says what is missing."""


def cache(suite: str) -> Path:
    """The folder of a suite, in the user's cache."""
    folder = kafka_jars.cache().parent / "peer-suites" / suite
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def call(*command: str, folder: Path, seconds: int = SECONDS, **environment: str) -> str:
    """Run a command; its output. Raises Unavailable: the program is not there, it failed or took too long."""
    if shutil.which(command[0]) is None and not Path(command[0]).exists():
        raise Unavailable(f"{command[0]} is not installed")
    env = {**os.environ, **environment}
    try:
        done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        raise Unavailable(f"{' '.join(command[:3])} took longer than {seconds} s") from None
    if done.returncode:
        raise Unavailable(f"{' '.join(command[:3])}: {(done.stderr or done.stdout).strip()[-300:]}")
    return done.stdout


def go_test(suite: str, module: str, package: str, *flags: str) -> tuple[Path, Path]:
    """The tests of a Go module as a program, and the folder that it wants to run in."""
    folder = cache(suite)
    told = json.loads(call("go", "mod", "download", "-json", module, folder=folder))
    home, program = Path(told["Dir"]), folder / f"{module.rpartition('@')[2]}.test"
    if not program.exists():
        call("go", "test", "-c", *flags, "-o", str(program), package, folder=home, GOFLAGS="-mod=mod")
    return program, home / package


def npm_package(suite: str, package: str) -> Path:
    """The unpacked archive of an npm package."""
    home = cache(suite) / package.rpartition("@")[2]
    if not (home / "package").is_dir():
        home.mkdir(parents=True, exist_ok=True)
        archive = call("npm", "pack", "--silent", package, folder=home).split()[-1]
        _unpack(home / archive, home)
    return home / "package"


def npm_installed(suite: str, package: str) -> Path:
    """A folder in which node finds an npm package."""
    home = cache(suite)
    if not (home / "node_modules").is_dir():
        call("npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(home), package, folder=home)
    return home


def sdist(suite: str, requirement: str) -> Path:
    """The unpacked source distribution of a Python package."""
    name, _, release = requirement.partition("==")
    home = cache(suite)
    stem = f"{name.replace('-', '_')}-{release}"
    if not (home / stem).is_dir():
        index = os.environ.get("PIP_INDEX_URL", "https://pypi.org/simple").rstrip("/")
        request = urllib.request.Request(f"{index}/{name}/", headers={"Accept": "application/vnd.pypi.simple.v1+json"})
        try:
            files: list[dict[str, Any]] = json.loads(_read(request))["files"]
            url = next(one["url"] for one in files if one["filename"] == f"{stem}.tar.gz")
            (home / f"{stem}.tar.gz").write_bytes(_read(urllib.request.Request(url)))
        except (urllib.error.URLError, OSError, ValueError, StopIteration) as error:
            raise Unavailable(f"no sdist of {requirement}: {error}") from None
        _unpack(home / f"{stem}.tar.gz", home)
    return home / stem


def librdkafka(suite: str, package: str) -> Path:
    """The folder of librdkafka's tests, built; the sources come with a package that compiles them itself."""
    home = npm_package(suite, package) / "deps" / "librdkafka"
    if not (home / "tests" / "test-runner").exists():
        call("bash", "./configure", "--disable-gssapi", "--disable-syslog", folder=home)
        for part, target in (("src", "all"), ("src-cpp", "all"), ("tests", "build")):
            call("make", "-C", part, target, folder=home, seconds=3_600)
    return home / "tests"


def _read(request: urllib.request.Request) -> bytes:
    with urllib.request.urlopen(request, timeout=60) as answer:
        content: bytes = answer.read()
    return content


def _unpack(archive: Path, folder: Path) -> None:
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
