"""What becomes of errors behind the control port that nobody foresaw."""

from __future__ import annotations

import json
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import Response

from groupsim.eventloop.realtime import RealTimeLoop
from groupsim.serving import api
from groupsim.serving.problems import Problem
from groupsim.serving.steps import parse


def test_an_error_of_a_handler_is_a_defect_that_the_log_is_told_of() -> None:
    """It is answered 500 and handed to the loop's `on_error`; it does not pass for a state of the cluster."""
    told: list[tuple[Exception, str]] = []

    async def broken(port: api.Port, request: Request) -> Response:
        raise KeyError("nobody thought of this")

    async def main(loop: RealTimeLoop) -> Response:
        nothing: Any = None
        port = api.Port(loop, nothing, nothing, nothing, {}, {}, None, lambda: None)
        scope = {"type": "http", "method": "GET", "path": "/groups", "query_string": b""}
        scope["headers"] = [(b"host", b"localhost")]
        return await api._guarded(port, broken)(Request(scope))

    loop = RealTimeLoop()
    loop.on_error = lambda error, where: told.append((error, where))
    answer = loop.run(main)
    assert answer.status_code == 500
    assert "nobody thought of this" in json.loads(bytes(answer.body))["detail"]
    assert [(type(error), where) for error, where in told] == [(KeyError, "GET /groups")]


def test_a_body_nested_too_deeply_is_no_json() -> None:
    """Brackets without end are refused as what cannot be read."""
    with pytest.raises(Problem) as refused:
        parse(b"[" * 500_000)
    assert refused.value.status == 400
