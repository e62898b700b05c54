"""How each suite is run in front of a served cluster, and how its outcomes are read."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from attrs import frozen

from tests.peer_suites import sources
from tests.peer_suites.suites import HERE, Suite, skips
from tests.peer_suites.toxiproxy import toxiproxy

SECONDS = 900
"""How long one suite may take; of librdkafka's, each test."""
_GO = re.compile(r"^ *--- (PASS|FAIL|SKIP): (\S+)", re.MULTILINE)
_LIBRDKAFKA = re.compile(r"^\| (\d{4}_\w+) +\| +(PASSED|FAILED|SKIPPED) ", re.MULTILINE)
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
# kafka-python's sdist lacks `test/__init__.py` and `test/service.py`; of the latter its fixtures need so much.
_SERVICE = """
class ExternalService:
    def __init__(self, host, port):
        self.host, self.port = host, port

    def open(self):
        pass

    def close(self):
        pass


class SpawnedService(ExternalService):
    pass
"""


@frozen
class Outcome:
    """What became of one test: "passed", "failed", "skipped"."""

    test: str
    outcome: str


def go(suite: Suite, bootstrap: str, log: Path, *flags: str, package: str, **environment: str) -> list[Outcome]:
    """Run a Go suite: one program, patterns of tests and of those that are skipped."""
    program, home = sources.go_test(suite.name, suite.source, package, *flags)
    without = "|".join(skip.test for skip in skips() if skip.suite == suite.name)
    command = [str(program), "-test.v", f"-test.timeout={SECONDS}s", f"-test.run=^({'|'.join(suite.tests)})$"]
    command += [f"-test.skip=^({without})$"] if without else []
    said = _run(command, home, log, {"KGO_SEEDS": bootstrap, **environment})
    words = {"PASS": "passed", "FAIL": "failed", "SKIP": "skipped"}
    return [Outcome(name, words[word]) for word, name in _GO.findall(said)]


def franz_go(suite: Suite, bootstrap: str, log: Path) -> list[Outcome]:
    """Run franz-go's integration tests, with less data than upstream."""
    less = {"KGO_TEST_RECORDS": "10000", "KGO_TEST_MAX_TOPIC_PARTS": "7"}
    return go(suite, bootstrap, log, package="./pkg/kgo", **less)


def sarama(suite: Suite, bootstrap: str, log: Path) -> list[Outcome]:
    """Run sarama's functional tests."""
    with toxiproxy(suite.port, bootstrap.split(",")) as address:
        environment = {"TOXIPROXY_ADDR": address, "KAFKA_VERSION": "4.3.1"}
        return go(suite, bootstrap, log, "-tags=functional", package=".", **environment)


def kafka_python(suite: Suite, bootstrap: str, log: Path) -> list[Outcome]:
    """Run kafka-python's integration tests with pytest."""
    home = sources.sdist(suite.name, suite.source)
    (home / "test" / "__init__.py").touch()
    (home / "test" / "service.py").write_text(_SERVICE)
    extra = sources.cache(suite.name) / "extra"
    if not extra.is_dir():
        pip = (sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(extra))
        sources.call(*pip, "pytest-mock", "pytest-timeout", folder=home)
    report = log.with_suffix(".xml")
    without = [f"--deselect={skip.test}" for skip in skips() if skip.suite == suite.name]
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:groupsim", "-o", "addopts=", "--tb=short"]
    command = [sys.executable, "-m", "pytest", *options, "--timeout=120", f"--junitxml={report}", *without]
    where = {"KAFKA_ROOT": str(home), "KAFKA_URI": f"kafka://{bootstrap}", "KAFKA_VERSION": "4.3"}
    _run([*command, "-o", "log_level=WARNING", *suite.tests], home, log, {**where, "PYTHONPATH": str(extra)})
    return [Outcome(case.get("name", ""), _judged(case)) for case in ElementTree.parse(report).iter("testcase")]


def _judged(case: ElementTree.Element) -> str:
    kinds = {child.tag for child in case}
    return "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"


def librdkafka(suite: Suite, bootstrap: str, log: Path) -> list[Outcome]:
    """Run librdkafka's tests, one process each: a test that fails ends its process."""
    home = sources.librdkafka(suite.name, suite.source)
    (home / "test.conf").write_text(f"bootstrap.servers={bootstrap}\n")
    path = os.pathsep.join(str(home.parent / part) for part in ("src", "src-cpp"))
    found = []
    without = {skip.test for skip in skips() if skip.suite == suite.name}
    for test in (one for one in suite.tests if one not in without):
        environment = {"TESTS": test, "TEST_LEVEL": "1", "TEST_KAFKA_VERSION": "4.0.0", "LD_LIBRARY_PATH": path}
        log_of_test = log.with_name(f"{log.stem}-{test}.log")
        said = _COLOURS.sub("", _run(["./test-runner", "-p1", "-L"], home, log_of_test, environment))
        words = dict(_LIBRDKAFKA.findall(said))
        found += [Outcome(name, word.lower()) for name, word in words.items()] or [Outcome(test, "failed")]
    return found


def kafkajs(suite: Suite, bootstrap: str, log: Path) -> list[Outcome]:
    """Run our own group tests through kafkajs, whose package has none."""
    home = sources.npm_installed(suite.name, suite.source)
    (home / suite.tests[0]).write_text((HERE / suite.tests[0]).read_text())
    said = _run(["node", suite.tests[0], bootstrap], home, log, {"KAFKAJS_NO_PARTITIONER_WARNING": "1"})
    rows = [json.loads(line) for line in said.splitlines() if line.startswith('{"test"')]
    return [Outcome(row["test"], row["outcome"]) for row in rows]


RUNNERS: Mapping[str, Callable[[Suite, str, Path], list[Outcome]]] = {
    "franz-go": franz_go,
    "sarama": sarama,
    "kafka-python": kafka_python,
    "librdkafka": librdkafka,
    "kafkajs": kafkajs,
}


def _run(
    command: Sequence[str], folder: Path, log: Path, environment: Mapping[str, str], seconds: int = SECONDS
) -> str:
    """Run a suite in a process group of its own, its output in a file; it is killed when time is up."""
    with log.open("w") as file:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, **environment},
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            file.write(f"\nkilled after {seconds} s\n")
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                time.sleep(1)
    return log.read_text(errors="replace")
