"""Spark sessions: local by default, on a cluster or a Spark Connect server when one is named.

    with session(EngineOptions(master="spark://host:7077")) as spark:
        spark.sql("select 1").show()

A local session listens on loopback alone and shows no page; Spark's output goes to a file that goes with the
session, not to the user's terminal. `lean` is for sweeps, where Spark only schedules; queries want the full compiler.
The user's settings (`EngineOptions.conf`, then `spark-defaults.conf`) go before ours.
"""

from __future__ import annotations

import logging
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from groupsim.pipeline.sweep.engines import EngineOptions, cores
from groupsim.pipeline.sweep.errors import SweepError
from groupsim.pipeline.sweep.spark.class_archive import classes
from groupsim.pipeline.sweep.spark.java import FULL, LEAN, find_java, launcher

LOOPBACK = "127.0.0.1"
CONNECT_PORT = 15002
TRIES = 4  # of a task; Spark's local mode has one, and a Python worker can be killed there, too
REACH_S = 5.0
ENDING_S, WRITING_S = 10.0, 60.0  # for a JVM to end; for one that writes its classes first
LOG = "spark.groupsim.log"  # a setting of ours: where the JVM's log lies
FIXED = (LOG, "spark.master")  # settings of ours that no file of defaults replaces

SETTINGS = {
    "spark.app.name": "groupsim",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.maxResultSize": "0",
    "spark.python.unix.domain.socket.enabled": "true",  # a task costs 6 to 15 ms instead of 25
    "spark.sql.catalogImplementation": "in-memory",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    # The driver's memory of finished jobs, for its page; a sweep is many jobs.
    "spark.ui.retainedJobs": "100",
    "spark.ui.retainedStages": "100",
    "spark.ui.retainedTasks": "5000",
    "spark.sql.ui.retainedExecutions": "20",
}


@contextmanager
def session(
    options: EngineOptions | None = None, *, lean: bool = False, settings: Mapping[str, str] | None = None
) -> Iterator[Any]:
    """A Spark session for as long as the block lasts; one that the process has already is used and left running.

    `settings` are Spark's own and go before ours. Raises SweepError when Spark, Java or the cluster cannot be had.
    """
    options = options or EngineOptions()
    _check_installed(options)
    # PySpark complains about pandas 3, which none of our calls passes through.
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is not None and not options.master and not options.remote:
        yield active
    elif options.remote:
        with _connected(options.remote, options.conf) as spark:
            yield spark
    else:
        with (
            tempfile.TemporaryDirectory(prefix="groupsim-spark-") as folder,
            _classic(options, Path(folder), lean, {**(settings or {}), **options.conf}) as spark,
        ):
            yield spark


def _check_installed(options: EngineOptions) -> None:
    needed = ("pyspark", "pyarrow", "pandas", *(("grpc",) if options.remote else ()))
    missing = [name for name in needed if find_spec(name) is None]
    if missing:
        remedy = "pip install pyspark-client" if options.remote else 'pip install "groupsim[spark]"'
        raise SweepError(f"{', '.join(missing)} is not installed", remedy)


@contextmanager
def _connected(remote: str, conf: Mapping[str, str]) -> Iterator[Any]:
    """A session on a Spark Connect server, with the settings that a session may have there."""
    from pyspark.sql import SparkSession

    address = urlsplit(remote)
    _check_reached(f"--remote {remote}", [(address.hostname or "", address.port or CONNECT_PORT)])
    spark = SparkSession.builder.remote(remote).create()
    try:
        for key, value in conf.items():
            _set(spark, key, value)
        yield spark
    finally:
        spark.stop()


@contextmanager
def _classic(options: EngineOptions, folder: Path, lean: bool, settings: Mapping[str, str]) -> Iterator[Any]:
    """A session with a JVM of our own, which ends with it."""
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    master = _master(options)
    if master.startswith("spark://"):
        _check_reached(f"--master {master}", _addresses(master))
    conf = SparkConf(loadDefaults=False)
    defaults = spark_defaults()
    ours = {
        key: value for key, value in _settings(master, folder, options).items() if key not in defaults or key in FIXED
    }
    for key, value in {**ours, **settings}.items():
        conf.set(key, value)
    java = find_java()
    kept = classes(java, write=lean)
    home = launcher(java, folder / "java", LEAN if lean else FULL, kept.options if lean else ())
    log = Path(conf.get(LOG))
    with _environment({"JAVA_HOME": str(home), **_places(master)}), log.open("wb") as output:
        # A session of its own for the JVM: ctrl-C is for the driver, which then stops the jobs.
        popen = {"stdout": output, "stderr": subprocess.STDOUT, "start_new_session": True}
        begun: list[subprocess.Popen[bytes]] = []
        try:
            with _hushed(), _noted_processes(begun):
                gateway = launch_gateway(conf, popen)
                context = SparkContext(gateway=gateway, conf=conf)
        except BaseException as error:
            _forget_gateway(0)
            _kill(begun)
            kept.take(well=False)
            if not isinstance(error, Exception):
                raise
            raise SweepError(
                f"Spark did not start: {_last_words(log, error)}", "check the Java and the master"
            ) from error
    accumulators = getattr(context, "_accumulatorServer", None)
    if accumulators is not None:
        accumulators.handle_error = lambda *_: None
    with _hushed():
        spark = SparkSession(context)
        patience = 0.0 if kept.draft else ENDING_S  # a forced stop does not wait for the classes
        try:
            yield spark
            patience = WRITING_S if kept.draft else ENDING_S
        finally:
            kept.take(_stop(spark, patience))


@contextmanager
def _hushed() -> Iterator[None]:
    """Suppress the output of PySpark when its JVM dies, or at ctrl-C; our message contains everything."""
    root = logging.getLogger()  # py4j logs to the root itself
    root.addFilter(_not_py4js)
    try:
        yield
    finally:
        root.removeFilter(_not_py4js)


def _not_py4js(record: logging.LogRecord) -> bool:
    return Path(record.pathname).parent.name != "py4j"


def jvm_log(spark: Any) -> Path | None:
    """The log of the session's JVM, when it is one of ours."""
    try:
        name = spark.conf.get(LOG, "")
    except Exception:  # there is no Spark any more
        return None
    return Path(name) if name else None


def _stop(spark: Any, patience: float) -> bool:
    """Stop the session and its JVM, dead or alive; returns whether the JVM ended well."""
    with warnings.catch_warnings(), suppress(Exception):  # should the JVM have gone before us
        warnings.simplefilter("ignore")
        spark.stop()
    return _forget_gateway(patience)


def _forget_gateway(patience: float) -> bool:
    """End the JVM within so many seconds; returns whether it ended well.

    PySpark would keep it for the process's next session, with this one's options.
    """
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    if gateway is None:
        return False
    process = getattr(gateway, "proc", None)
    try:
        gateway.shutdown()
    except Exception:
        pass
    if process is not None:
        process.stdin.close()
        try:
            process.wait(timeout=patience)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
    return process is not None and process.returncode == 0


@contextmanager
def _noted_processes(begun: list[subprocess.Popen[bytes]]) -> Iterator[None]:
    """Record the processes that PySpark starts: interrupted while it waits for its JVM, it does not report them."""
    from pyspark import java_gateway

    real = java_gateway.Popen

    def noted(*args: Any, **kwargs: Any) -> subprocess.Popen[bytes]:
        begun.append(real(*args, **kwargs))
        return begun[-1]

    java_gateway.Popen = noted
    try:
        yield
    finally:
        java_gateway.Popen = real


def _kill(begun: list[subprocess.Popen[bytes]]) -> None:
    """End a JVM that is still starting, found by its command line: it would wait for us for ever."""
    for process in begun:
        with suppress(OSError):  # it has ended by itself
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def spark_defaults() -> dict[str, str]:
    """The settings of the user's `spark-defaults.conf`, where Spark looks for it."""
    spec = find_spec("pyspark")
    home = os.environ.get("SPARK_HOME") or (Path(spec.origin).parent if spec and spec.origin else "")
    file = Path(os.environ.get("SPARK_CONF_DIR") or Path(home) / "conf") / "spark-defaults.conf"
    lines = file.read_text("utf-8").splitlines() if file.is_file() else []
    pairs = (re.split(r"\s*[=:\s]\s*", line.strip(), maxsplit=1) for line in lines if not line.lstrip().startswith("#"))
    return {pair[0]: pair[1] for pair in pairs if len(pair) == 2}


def describe(spark: Any, what: str) -> None:
    """Describe the next jobs of this thread on Spark's page: as their description, on a Connect
    server as a tag of them, for only the server describes jobs there.
    """
    if type(spark).__module__.startswith("pyspark.sql.connect."):
        spark.clearTags()
        spark.addTag(what.replace(",", ""))  # which separates tags
        return
    with suppress(Exception):
        spark.sparkContext.setJobDescription(what)


def ui(spark: Any) -> str:
    """Where the session's own page is; nothing when it shows none."""
    try:
        return str(spark.sparkContext.uiWebUrl or "")
    except Exception:  # Connect has none that we could name
        return ""


def _set(spark: Any, key: str, value: str) -> None:
    try:
        spark.conf.set(key, value)
    except Exception as error:
        raise SweepError(
            f"--conf {key}: the server does not let a session set it: {(str(error).splitlines() or [''])[0][:200]}",
            "set it where the server is started",
            bad_input=True,
        ) from error


def _master(options: EngineOptions) -> str:
    """The master as Spark wants it; a local one with several tries for a task."""
    master = options.master or f"local[{options.workers or cores()}]"
    local = re.fullmatch(r"local(?:\[(\d+|\*)\])?", master)
    return f"local[{local[1] or 1},{TRIES}]" if local else master


def _settings(master: str, folder: Path, options: EngineOptions) -> dict[str, str]:
    found = {**SETTINGS, "spark.master": master, "spark.sql.warehouse.dir": str(folder / "warehouse")}
    found[LOG] = str(folder / "spark.log")
    if master.startswith("local"):
        found["spark.local.dir"] = str(folder / "local")
        found["spark.driver.memory"] = "2g"
        found["spark.sql.shuffle.partitions"] = "8"
        found["spark.pyspark.python"] = sys.executable
    elif options.workers:
        found["spark.cores.max"] = str(options.workers)
    if _on_loopback(master):
        found["spark.driver.host"] = found["spark.driver.bindAddress"] = LOOPBACK
    return found


def _places(master: str) -> dict[str, str]:
    """What Spark reads from the environment."""
    places = {"SPARK_LOCAL_IP": LOOPBACK} if _on_loopback(master) else {}
    return {**places, "PYSPARK_PYTHON": sys.executable} if master.startswith("local") else places


def _on_loopback(master: str) -> bool:
    return master.startswith("local") or all(host in (LOOPBACK, "localhost", "::1") for host, _ in _addresses(master))


def _addresses(master: str) -> list[tuple[str, int]]:
    """Host and port of each of a standalone cluster's masters; one without a name for other kinds of cluster."""
    if not master.startswith("spark://"):
        return [("", 0)]
    parts = [urlsplit(f"spark://{part}") for part in master.removeprefix("spark://").split(",")]
    return [(part.hostname or "", part.port or 7077) for part in parts]


def _check_reached(what: str, addresses: list[tuple[str, int]]) -> None:
    """Check whether a server listens: Spark itself would try for minutes before it reports that."""
    problems = []
    for address in addresses:
        try:
            socket.create_connection(address, timeout=REACH_S).close()
            return
        except OSError as error:
            problems.append(f"{address[0]}:{address[1]}: {error.strerror or error}")
    raise SweepError(f"{what} cannot be reached ({'; '.join(problems)})", "check the address, and that it runs")


def _last_words(log: Path, error: Exception) -> str:
    """Return the line of Spark's log with the reason for which it did not start."""
    lines = log.read_text("utf-8", "replace").splitlines() if log.is_file() else []
    telling = [line for line in lines if re.search(r"Exception|Error|ERROR", line) and not line.startswith("\tat ")]
    return (telling or [str(error)])[-1].strip()[:500]


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """These variables while the JVM starts: PySpark takes them from the process alone."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
