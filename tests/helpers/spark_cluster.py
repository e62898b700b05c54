"""Spark as tests need it: a master, workers and a Connect server on loopback, and Pythons that hold next to nothing."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import venv
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path

from groupsim.pipeline.sweep.errors import SweepError
from groupsim.pipeline.sweep.spark.java import find_java, launcher

WORKERS_HAVE = ("pyspark", "pyarrow", "py4j", "pyarrow.libs")
PATIENCE_S = 240  # for something to happen: many times what it takes on an idle machine
LONG_S = 900  # for a whole sweep, likewise


def why_not() -> str:
    """Why Spark cannot be tested here; nothing when it can."""
    missing = [name for name in ("pyspark", "pandas", "pyarrow") if find_spec(name) is None]
    if missing:
        return f"{', '.join(missing)} is not installed"
    try:
        find_java()
    except SweepError as error:
        return error.message
    return ""


def python_with(folder: Path, *packages: str) -> Path:
    """A Python of this version whose only packages are these, linked from the one that runs the tests."""
    venv.create(folder, with_pip=False, symlinks=True)
    site = next(folder.glob("lib/python*/site-packages"))
    for package in packages:
        spec = find_spec(package) if "." not in package else None
        source = Path(spec.origin).parent if spec and spec.origin else site_packages() / package
        if source.exists():
            (site / package).symlink_to(source)
    return folder / "bin/python"


def site_packages() -> Path:
    """Where the packages of this Python lie."""
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent.parent


def free_port() -> int:
    """A port nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def environment(folder: Path, python: Path) -> dict[str, str]:
    """What Spark's own programs are started with."""
    java = launcher(find_java(), folder / "java", ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"))
    home = site_packages() / "pyspark"
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG", "TMPDIR")}
    return {
        **kept,
        "JAVA_HOME": str(java),
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(folder / "local"),
        "PYSPARK_PYTHON": str(python),
    }


@contextmanager
def program(
    folder: Path, name: str, python: Path, *arguments: str, before: tuple[str, ...] = ()
) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """One of Spark's programs and its log, for as long as the block lasts; `before` is a command that starts it."""
    log = folder / f"{name}.log"
    spark = site_packages() / "pyspark/bin"
    with log.open("wb") as said:
        process = subprocess.Popen(
            [*before, spark / arguments[0], *arguments[1:]],
            stdout=said,
            stderr=subprocess.STDOUT,
            env=environment(folder, python),
            cwd=folder,
            start_new_session=True,
        )
        try:
            yield process, log
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def until(condition: Callable[[], object], what: str) -> None:
    """Wait for something to be so."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what} within {PATIENCE_S} s")
        time.sleep(0.05)


@contextmanager
def standalone(folder: Path, python: Path, workers: int = 2) -> Iterator[tuple[str, list[int]]]:
    """A master with workers of one core each: its address, and the process ids of the workers."""
    master = ("spark-class", "org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", str(free_port()))
    with program(folder, "master", python, *master, "--webui-port", "0") as (_, log):
        until(lambda: re.search(r"spark://127.0.0.1:\d+", log.read_text("utf-8", "replace")), "no master")
        found = re.search(r"spark://127.0.0.1:\d+", log.read_text("utf-8", "replace"))
        assert found is not None
        with _workers(folder, python, found[0], workers) as pids:
            yield found[0], pids


@contextmanager
def _workers(folder: Path, python: Path, master: str, count: int) -> Iterator[list[int]]:
    if count == 0:
        yield []
        return
    home = folder / f"worker-{count}"
    home.mkdir()
    options = ("--host", "127.0.0.1", "--cores", "1", "--memory", "1g", "--webui-port", "0", "--work-dir", str(home))
    worker = ("spark-class", "org.apache.spark.deploy.worker.Worker", *options, master)
    with program(home, "worker", python, *worker) as (process, log):
        until(lambda: "Successfully registered" in log.read_text("utf-8", "replace"), "no worker")
        with _workers(folder, python, master, count - 1) as others:
            yield [process.pid, *others]


@contextmanager
def connect(folder: Path, python: Path, hidden: Path | None = None) -> Iterator[str]:
    """A Spark Connect server with two cores: its address. It sees nothing of what is in the folder `hidden`."""
    port = free_port()
    settings = {
        "spark.connect.grpc.binding.port": str(port),
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.pyspark.python": str(python),
    }
    options = [part for key, value in settings.items() for part in ("--conf", f"{key}={value}")]
    server = ("spark-submit", "--master", "local[2]", *options, "--class", CONNECT_SERVER, "spark-internal")
    with program(folder, "connect", python, *server, before=blind_to(hidden) if hidden else ()) as (process, _):

        def listens() -> bool:
            assert process.poll() is None
            with socket.socket() as asked:
                return asked.connect_ex(("127.0.0.1", port)) == 0

        until(listens, "no Connect server")
        yield f"sc://127.0.0.1:{port}"


def blind_to(hidden: Path) -> tuple[str, ...]:
    """A command that starts another, before whose eyes an empty file system lies over the folder."""
    mounting = 'mount -t tmpfs none "$0" && exec "$@"'
    return ("unshare", "--map-root-user", "--mount", "sh", "-c", mounting, str(hidden))


def why_not_blind(folder: Path) -> str:
    """Why a process cannot be kept from seeing a folder here; nothing when it can."""
    if shutil.which("unshare") is None:
        return "unshare is not installed"
    tried = subprocess.run([*blind_to(folder), "true"], capture_output=True, text=True, check=False)
    return tried.stderr.strip() if tried.returncode else ""


CONNECT_SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"


def below(pid: int) -> list[tuple[int, str]]:
    """Every process below one, with its command line; without those that end meanwhile."""
    found = []
    for thread in Path(f"/proc/{pid}/task").glob("*/children"):
        children: list[str] = []
        with suppress(FileNotFoundError, ProcessLookupError):
            children = thread.read_text().split()
        for text in children:
            with suppress(FileNotFoundError, ProcessLookupError):
                command = Path(f"/proc/{text}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
                found += [(int(text), command), *below(int(text))]
    return found


def groupsim(*arguments: str | Path, python: Path | None = None) -> subprocess.Popen[str]:
    """The command, started; the workers' Python is named as a user does."""
    named = {"PYSPARK_PYTHON": str(python)} if python else {}
    return subprocess.Popen(
        [sys.executable, "-m", "groupsim.cli.app", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **named, "COLUMNS": "300"},
    )
