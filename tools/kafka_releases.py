"""Class paths of brokers of any release, as Maven resolves them: `kafka_jars` pins those of two releases alone.

    python tools/kafka_releases.py 4.0.1 4.2.1      resolves them and prints their class paths

Needs `mvn`. What was resolved is kept beside the jars of `kafka_jars`, and resolved again when a jar is gone.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import kafka_jars

_SECONDS = 600
_POM = """
<project><modelVersion>4.0.0</modelVersion><groupId>old</groupId><artifactId>old</artifactId><version>1</version>
<dependencies>{dependencies}</dependencies></project>"""
_DEPENDENCY = "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>"
_LOGGER = ("org.apache.logging.log4j:",)


def class_path(release: str) -> str:
    """The class path of a broker of that release, 4.0 or later, with a logger. Raises Unavailable."""
    logger = [jar for jar in kafka_jars.BROKER if jar.startswith(_LOGGER)]
    return f"{kafka_jars.class_path(logger)}{os.pathsep}{resolved([f'org.apache.kafka:kafka_2.13:{release}'])}"


def resolved(coordinates: Sequence[str]) -> str:
    """The jars of these and of all that they need, as a class path. Raises Unavailable without Maven or the jars."""
    kept = kafka_jars.cache().parent / "class-paths" / "+".join(coordinates).replace(":", "_")
    if kept.exists() and all(Path(jar).exists() for jar in kept.read_text("utf-8").split(os.pathsep)):
        return kept.read_text("utf-8")
    with tempfile.TemporaryDirectory(prefix="groupsim-maven-") as folder:
        wanted = "".join(_DEPENDENCY.format(*coordinate.split(":")) for coordinate in coordinates)
        (Path(folder) / "pom.xml").write_text(_POM.format(dependencies=wanted).strip(), "utf-8")
        command = ["mvn", "-q", "-B", "dependency:build-classpath", "-Dmdep.outputFile=class-path"]
        try:
            subprocess.run(command, cwd=folder, check=True, timeout=_SECONDS, capture_output=True, text=True)
        except (OSError, subprocess.SubprocessError) as error:
            raise kafka_jars.Unavailable(f"Maven cannot resolve {', '.join(coordinates)}: {error}") from None
        found = (Path(folder) / "class-path").read_text("utf-8").strip()
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(found, "utf-8")
    return found


if __name__ == "__main__":
    for one in sys.argv[1:]:
        print(class_path(one))
