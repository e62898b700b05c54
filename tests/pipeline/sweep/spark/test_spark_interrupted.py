"""Ctrl-C while a session of Spark starts; in a file of its own, since no other session may be there to be used."""

from __future__ import annotations

from typing import Any

import pytest

from groupsim.pipeline.sweep.engines import EngineOptions
from groupsim.pipeline.sweep.spark.session import session
from tests.helpers import spark_cluster


def test_ctrl_c_while_spark_starts_is_not_told_by_py4j(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It logs a traceback of its own to the root logger before the driver hears of the key."""
    if why := spark_cluster.why_not():
        pytest.skip(f"no Spark: {why}")
    from pyspark import java_gateway

    launched: dict[str, Any] = {}
    source = "def launch_gateway(*_):\n    import logging as l\n    l.error('no answer')\n    raise KeyboardInterrupt\n"
    exec(compile(source, "/lib/py4j/java_gateway.py", "exec"), launched)  # where a line of a log comes from is its file
    monkeypatch.setattr(java_gateway, "launch_gateway", launched["launch_gateway"])
    with pytest.raises(KeyboardInterrupt), session(EngineOptions(workers=1)):
        pass
    assert caplog.messages == []
    with pytest.raises(KeyboardInterrupt):
        launched["launch_gateway"]()
    assert caplog.messages == ["no answer"]
