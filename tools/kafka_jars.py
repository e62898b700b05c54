"""Kafka's own classes for the tests: jars from Maven Central, kept in the user's cache directory.

    python tools/kafka_jars.py      fetches all of them (some 60 MB) and prints where they lie

`BASELINE` is the release that the project models: broker, storage and clients. `TOOLS` are the command-line tools
(`DumpLogSegments`), of the release before: those of 4.4.0 were not published (kafka-tools and kafka-tools-api, 404).
Every file is checked against the SHA-1 that Maven Central gives for it, and is there whole or not at all.
`GROUPSIM_MAVEN` names another repository of the same layout, `GROUPSIM_CACHE` another directory.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path

VERSION = "4.4.0"
TOOLS_VERSION = "4.3.1"
CENTRAL = "https://repo1.maven.org/maven2"
SECONDS = 60

_OWN = [
    "kafka-clients",
    "kafka-coordinator-common",
    "kafka-group-coordinator",
    "kafka-group-coordinator-api",
    "kafka-metadata",
    "kafka-raft",
    "kafka-server-common",
    "kafka-share-coordinator",
    "kafka-storage",
    "kafka-storage-api",
    "kafka-transaction-coordinator",
]
# group:artifact:version, as Maven resolves them for kafka_2.13:4.4.0.
_LIBRARIES = [
    "com.fasterxml.jackson.core:jackson-annotations:2.21",
    "com.fasterxml.jackson.core:jackson-core:2.21.7",
    "com.fasterxml.jackson.core:jackson-databind:2.21.7",
    "com.fasterxml.jackson.datatype:jackson-datatype-jdk8:2.21.7",
    "com.github.ben-manes.caffeine:caffeine:3.2.0",
    "com.github.luben:zstd-jni:1.5.7-17",
    "com.yammer.metrics:metrics-core:2.2.0",
    "net.sf.jopt-simple:jopt-simple:5.0.4",
    "org.pcollections:pcollections:4.0.2",
    "org.slf4j:slf4j-api:1.7.36",
]
# Codecs that are not a part of the clients' own jar.
_CODECS = [
    "at.yawk.lz4:lz4-java:1.11.2",
    "org.xerial.snappy:snappy-java:1.1.10.7",
]
_SERVER = [
    "com.dynatrace.hash4j:hash4j:0.22.0",
    "com.fasterxml.jackson.dataformat:jackson-dataformat-yaml:2.21.7",
    "com.google.re2j:re2j:1.8",
    "com.typesafe.scala-logging:scala-logging_2.13:3.9.6",
    "commons-beanutils:commons-beanutils:1.11.0",
    "commons-collections:commons-collections:3.2.2",
    "commons-digester:commons-digester:2.1",
    "commons-logging:commons-logging:1.3.5",
    "commons-validator:commons-validator:1.10.1",
    "net.sourceforge.argparse4j:argparse4j:0.7.0",
    "org.apache.logging.log4j:log4j-api:2.25.5",
    "org.apache.logging.log4j:log4j-core:2.25.5",
    "org.apache.logging.log4j:log4j-slf4j-impl:2.25.5",
    "org.bitbucket.b_c:jose4j:0.9.6",
    "org.hdrhistogram:HdrHistogram:2.2.2",
    "org.jspecify:jspecify:1.0.0",
    "org.scala-lang:scala-library:2.13.18",
    "org.scala-lang:scala-reflect:2.13.18",
    "org.yaml:snakeyaml:2.5",
]


def _kafka(version: str, *more: str) -> list[str]:
    return [f"org.apache.kafka:{name}:{version}" for name in (*_OWN, *more)]


STORAGE = (*_kafka(VERSION), *_LIBRARIES)
"""Records, segments, coordinators' schemas of the baseline: what writes and reads logs."""
BROKER = (*_kafka(VERSION, "kafka-server", "kafka_2.13"), *_LIBRARIES, *_CODECS, *_SERVER)
"""A whole broker of the baseline (`kafka.Kafka`)."""
BEFORE = "3.9.1"
"""The last line of the classic group coordinator in Scala, and of log4j 1."""
BROKER_BEFORE = (
    *[
        f"org.apache.kafka:{name}:{BEFORE}"
        for name in (*_OWN, "kafka-server", "kafka_2.13", "kafka-tools-api")
        if name not in ("kafka-coordinator-common", "kafka-share-coordinator")
    ],
    "ch.qos.reload4j:reload4j:1.2.25",
    "com.fasterxml.jackson.core:jackson-annotations:2.16.2",
    "com.fasterxml.jackson.core:jackson-core:2.16.2",
    "com.fasterxml.jackson.core:jackson-databind:2.16.2",
    "com.fasterxml.jackson.dataformat:jackson-dataformat-csv:2.16.2",
    "com.fasterxml.jackson.datatype:jackson-datatype-jdk8:2.16.2",
    "com.fasterxml.jackson.module:jackson-module-scala_2.13:2.16.2",
    "com.github.ben-manes.caffeine:caffeine:2.9.3",
    "com.github.luben:zstd-jni:1.5.6-4",
    "com.thoughtworks.paranamer:paranamer:2.8",
    "com.typesafe.scala-logging:scala-logging_2.13:3.9.5",
    "com.yammer.metrics:metrics-core:2.2.0",
    "commons-cli:commons-cli:1.4",
    "commons-io:commons-io:2.14.0",
    "commons-validator:commons-validator:1.7",
    "net.sf.jopt-simple:jopt-simple:5.0.4",
    "net.sourceforge.argparse4j:argparse4j:0.7.0",
    "org.apache.yetus:audience-annotations:0.12.0",
    "org.apache.zookeeper:zookeeper-jute:3.8.4",
    "org.apache.zookeeper:zookeeper:3.8.4",
    "org.bitbucket.b_c:jose4j:0.9.4",
    "org.lz4:lz4-java:1.8.0",
    "org.pcollections:pcollections:4.0.1",
    "org.scala-lang.modules:scala-collection-compat_2.13:2.10.0",
    "org.scala-lang.modules:scala-java8-compat_2.13:1.0.2",
    "org.scala-lang:scala-library:2.13.15",
    "org.scala-lang:scala-reflect:2.13.15",
    "org.slf4j:slf4j-api:1.7.36",
    "org.slf4j:slf4j-reload4j:1.7.36",
    "org.xerial.snappy:snappy-java:1.1.10.5",
)
"""A whole broker of `BEFORE`."""
TOOLS = (*_kafka(TOOLS_VERSION, "kafka-tools", "kafka-tools-api"), *_LIBRARIES, *_CODECS)
"""The command-line tools that need no broker's code."""


class Unavailable(Exception):
    """Java or the jars cannot be had here; says why."""


def java() -> str:
    """The path of a Java. Raises Unavailable."""
    found = shutil.which("java")
    if found is None:
        raise Unavailable("java is not installed")
    return found


def class_path(coordinates: Sequence[str]) -> str:
    """The jars as a class path; what is not in the cache is fetched. Raises Unavailable."""
    return os.pathsep.join(str(jar(coordinate)) for coordinate in coordinates)


def jar(coordinate: str) -> Path:
    """One jar, from the cache or from Maven Central. Raises Unavailable."""
    group, name, version = coordinate.split(":")
    place = f"{group.replace('.', '/')}/{name}/{version}/{name}-{version}.jar"
    path = cache() / place
    if not path.exists():
        url = f"{os.environ.get('GROUPSIM_MAVEN', CENTRAL)}/{place}"
        data, digest = _fetch(url), _fetch(url + ".sha1").decode().split()[0]
        if hashlib.sha1(data).hexdigest() != digest:
            raise Unavailable(f"{url} is not what its .sha1 says; try again")
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(f"{path.name}.{os.getpid()}")
        beside.write_bytes(data)
        beside.replace(path)
    return path


def cache() -> Path:
    """Where jars are kept."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(os.environ.get("GROUPSIM_CACHE") or home / "groupsim") / "jars"


def _fetch(url: str) -> bytes:
    try:
        with urllib.request.urlopen(url, timeout=SECONDS) as answer:
            data: bytes = answer.read()
    except (OSError, urllib.error.URLError) as error:
        raise Unavailable(f"{url} cannot be fetched: {error}") from None
    return data


def run(coordinates: Sequence[str], *arguments: str, seconds: float = 120) -> str:
    """What `java -cp … arguments` prints. Raises Unavailable, and CalledProcessError with what it printed."""
    command = [java(), "-Xshare:auto", "-XX:TieredStopAtLevel=1", "-cp", class_path(coordinates), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    if done.returncode or "Exception in thread" in done.stderr:
        raise subprocess.CalledProcessError(done.returncode, arguments, done.stdout, done.stderr)
    return done.stdout


def dump_log(*arguments: str) -> str:
    """Kafka's `kafka-dump-log.sh`. Raises as `run`."""
    return run(TOOLS, "org.apache.kafka.tools.DumpLogSegments", *arguments)


if __name__ == "__main__":
    for one in dict.fromkeys((*BROKER, *TOOLS)):
        print(jar(one))
