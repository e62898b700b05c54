"""Compiles the Java programs, each once per change of its source, into the user's cache."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import kafka_jars

FOLDER = Path(__file__).parent
_LIBRARIES = [
    "com.fasterxml.jackson.core:jackson-annotations:2.21",
    "com.fasterxml.jackson.core:jackson-core:2.21.7",
    "com.fasterxml.jackson.core:jackson-databind:2.21.7",
    "com.github.luben:zstd-jni:1.5.7-17",
    "at.yawk.lz4:lz4-java:1.11.2",
    "org.xerial.snappy:snappy-java:1.1.10.7",
    "org.slf4j:slf4j-api:1.7.36",
    "org.slf4j:slf4j-simple:1.7.36",
]
# Small and quick to start; libraries that bring native code are made to put it into a folder of the process.
_JVM = ("-Xmx96m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-Xshare:auto")


def command(program: str = "Member", logs: str = "warn", version: str = kafka_jars.VERSION) -> Sequence[str]:
    """How a program of this folder is started with a client of a release; it logs from the level `logs` on.

    Raises `kafka_jars.Unavailable` without Java or jars.
    """
    client = f"org.apache.kafka:kafka-clients:{version}"
    java, libraries = kafka_jars.java(), kafka_jars.class_path((client, *_LIBRARIES))
    source = FOLDER / f"{program}.java"
    classes = _compiled(source, libraries)
    start = [java, *_JVM, f"-Dorg.slf4j.simpleLogger.defaultLogLevel={logs}", "-cp"]
    if classes is None:
        return [*start, libraries, str(source)]
    return [*start, os.pathsep.join([str(classes), libraries]), program]


def _compiled(source: Path, libraries: str) -> Path | None:
    """The folder of the classes; None where there is no compiler, and Java runs the source as it is."""
    javac = shutil.which("javac")
    if javac is None:
        return None
    digest = hashlib.sha256(source.read_bytes() + libraries.encode()).hexdigest()[:16]
    folder = kafka_jars.cache().parent / "classes" / f"{source.stem.lower()}-{digest}"
    if not folder.exists():
        beside = folder.with_name(f"{folder.name}.{os.getpid()}")
        subprocess.run([javac, "-nowarn", "-cp", libraries, "-d", str(beside), str(source)], check=True)
        try:
            beside.rename(folder)
        except OSError:  # another process was first
            shutil.rmtree(beside)
    return folder
