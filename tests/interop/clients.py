"""The clients under test: how each one's member program is started, and which version it is."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path

import kafka_jars
from attrs import frozen

from tests.interop.java import build

HERE = Path(__file__).parent


@frozen
class Client:
    """One client library. `command` makes ready what there is to build and returns how a member program is started;
    it raises `kafka_jars.Unavailable` where that cannot be had here, and `needs` is how GROUPSIM_MUST_RUN calls it.
    """

    name: str
    version: str
    command: Callable[[], Sequence[str]]
    codecs: Sequence[str] = ("none", "gzip", "snappy", "lz4", "zstd")
    needs: str = ""


def python(program: str) -> Callable[[], Sequence[str]]:
    """A member program of `python/`, with this interpreter."""
    return lambda: [sys.executable, str(HERE / "python" / program)]


CONFLUENT = Client("confluent-kafka", version("confluent-kafka"), python("confluent.py"))
AIOKAFKA = Client("aiokafka", version("aiokafka"), python("aio.py"))
KAFKA_PYTHON = Client("kafka-python", version("kafka-python"), python("dpkp.py"))
JAVA = Client("java", kafka_jars.VERSION, build.command, needs="java")
# The tools themselves are run by `tools.py`; the members of the groups that they look at are confluent-kafka's.
TOOLS = Client("kafka-tools", kafka_jars.TOOLS_VERSION, python("confluent.py"), needs="kafka")

PYTHON = (CONFLUENT, AIOKAFKA, KAFKA_PYTHON)
