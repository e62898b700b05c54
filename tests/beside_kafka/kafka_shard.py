"""Kafka's own `GroupCoordinatorShard` in a process of its own, from the released jars (`KafkaShard.java`)."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any, TypeAlias

from tests.conformance.servers import kafka_jars as kafka_jars

Body: TypeAlias = dict[str, Any]
PROGRAM = Path(__file__).with_name("KafkaShard.java")


class KafkaShard:
    """One process; `ask` puts an operation to it. Raises Unavailable without Java or the jars."""

    def __init__(self) -> None:
        command = [kafka_jars.java(), "-Xshare:auto", "-XX:TieredStopAtLevel=1", "-cp"]
        self._process = subprocess.Popen(
            [*command, kafka_jars.class_path(kafka_jars.BROKER), str(PROGRAM)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def ask(self, op: str, **fields: object) -> Body:
        """Return the answer to an operation."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"op": op, **fields}) + "\n")
        self._process.stdin.flush()
        answer: Body = json.loads(self._process.stdout.readline())
        return answer

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(10)

    def __enter__(self) -> KafkaShard:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
