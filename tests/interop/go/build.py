"""Builds the Go member programs, once per change of their sources, into the user's cache.

Modules come from Go's module proxy, as `go.mod` and `go.sum` pin them, into Go's own module cache: nothing is fetched
into the checkout.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import kafka_jars

HERE = Path(__file__).parent
SECONDS = 600


def command(program: str) -> Callable[[], Sequence[str]]:
    """How the member program of a folder is started. Calling it raises `kafka_jars.Unavailable` without Go or modules,
    CalledProcessError when the program does not compile.
    """
    return lambda: [str(_built(program))]


def version(module: str) -> str:
    """The version of a module that `go.mod` pins. Raises LookupError."""
    for line in (HERE / "go.mod").read_text("utf-8").splitlines():
        name, _, rest = line.strip().partition(" ")
        if name == module:
            return rest.split()[0].removeprefix("v")
    raise LookupError(f"go.mod requires no {module}")


def _built(program: str) -> Path:
    go = shutil.which("go")
    if go is None:
        raise kafka_jars.Unavailable("go is not installed")
    path = kafka_jars.cache().parent / "go" / f"{program}-{_digest()}"
    if not path.exists():
        _download(go)
        beside = path.with_name(f"{path.name}.{os.getpid()}")
        _run(go, "build", "-mod=readonly", "-trimpath", "-o", str(beside), f"./{program}")
        beside.replace(path)
    return path


def _digest() -> str:
    digest = hashlib.sha256()
    for path in sorted((*HERE.glob("*/*.go"), HERE / "go.mod", HERE / "go.sum")):
        digest.update(f"{path.relative_to(HERE)}\n".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def _download(go: str) -> None:
    try:
        _run(go, "mod", "download")
    except subprocess.CalledProcessError as error:
        raise kafka_jars.Unavailable(f"Go's modules cannot be had: {error.stderr.strip()}") from None
    except subprocess.TimeoutExpired:
        raise kafka_jars.Unavailable(f"Go's modules did not come within {SECONDS} s") from None


def _run(go: str, *arguments: str) -> None:
    # No newer toolchain either: what is installed, or none.
    environment = {**os.environ, "GOTOOLCHAIN": "local", "GOWORK": "off", "GOFLAGS": ""}
    subprocess.run(
        [go, *arguments], cwd=HERE, env=environment, check=True, capture_output=True, text=True, timeout=SECONDS
    )
