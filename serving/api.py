"""The routes of the control port: the parameters, the action and the answer of each.

A handler runs between two events of the loop, so it sees a consistent cluster and needs no lock; those that wait
(`await`, `/trace?follow=true`) wait on the loop. An impossible request is a `Problem`; no request can end the run.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from groupsim.eventloop.realtime import RealTimeLoop
from groupsim.eventloop.trace.events import Kind
from groupsim.eventloop.units import parse_duration
from groupsim.protocol.values import define
from groupsim.scenarios.expectations.expectations import STATES
from groupsim.scenarios.language.problems import suggest
from groupsim.serving import guard, views
from groupsim.serving.active_faults import ActiveFaults, LiveFault
from groupsim.serving.openapi import document
from groupsim.serving.problems import CONTENT_TYPE, Problem, conflict
from groupsim.serving.recent_events import RecentEvents, Wanted
from groupsim.serving.stage import LiveStage
from groupsim.serving.steps import parse, read_action

MAX_BODY = 1_000_000
_MINUTE_US = 60_000_000
LONGEST_WAIT_US = 10 * _MINUTE_US
DEFAULT_WAIT = "30s"

T = TypeVar("T")
R = TypeVar("R")
Handler = Callable[["Port", Request], Awaitable[Response]]


@define(eq=False)
class Port:
    """The state that the handlers work on."""

    loop: RealTimeLoop
    stage: LiveStage
    book: ActiveFaults
    tail: RecentEvents
    addresses: Mapping[int, tuple[str, int]]
    about: Mapping[str, Any]
    token: str | None
    stop: Callable[[], None]


def application(port: Port) -> Starlette:
    """Return the control port as an ASGI application."""
    routes = [Route(path, _guarded(port, handler), methods=[method]) for method, path, handler in ROUTES]
    return Starlette(routes=routes, exception_handlers={404: _no_such_path, 405: _no_such_path})


def _guarded(port: Port, handler: Handler) -> Callable[[Request], Awaitable[Response]]:
    """Return a route behind the guard, with its errors as documents."""

    async def route(request: Request) -> Response:
        try:
            guard.check(request.headers, port.token)
            return await handler(port, request)
        except Problem as problem:
            return _answer(problem)
        except ClientDisconnect:
            return Response(status_code=400)
        except Exception as error:
            port.loop.fail(error, f"{request.method} {request.url.path}")  # which logs the error and continues
            words = f"{type(error).__name__}: {error}"
            return _answer(
                Problem(500, "a defect of this server", words, remedy="its log says where; please report it")
            )

    return route


def _done(port: Port, call: Callable[[T], R], what: T) -> R:
    """Change the cluster. Raises Problem (409) when its present state does not allow it."""
    try:
        return port.loop.from_outside(call, what)
    except (ValueError, LookupError, RuntimeError) as error:
        raise conflict(error) from error


def _answer(problem: Problem) -> Response:
    headers = {"WWW-Authenticate": "Bearer"} if problem.status == 401 else None
    return JSONResponse(problem.document(), problem.status, headers=headers, media_type=CONTENT_TYPE)


async def _no_such_path(request: Request, _: Exception) -> Response:
    there = [f"{method} {path}" for method, path, _handler in ROUTES]
    wanted = f"{request.method} {request.url.path}"
    if request.url.path == "/":
        return _answer(Problem(404, "there is no page at /", f"known: {', '.join(there)}", remedy=f"{_ALL_PATHS}."))
    known = [route for route in there if "{" not in route]
    hint = suggest(wanted, known) if wanted not in there else ""
    remedy = f"{hint}{'' if hint.endswith('?') else ';'} {_ALL_PATHS}" if hint else _ALL_PATHS
    return _answer(Problem(404, f"there is no {wanted}", remedy=f"{remedy}."))


_ALL_PATHS = "GET /openapi.json describes all paths"


async def _body(request: Request) -> dict[str, Any]:
    """Return the body as an object. Raises Problem when it is too large or no object."""
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > MAX_BODY:
            raise Problem(413, "the body is too large", f"the limit is {MAX_BODY:,} bytes")
        parts.append(part)
    return parse(b"".join(parts))


# --- the cluster ----------------------------------------------------------------------------------------------------


async def _openapi(port: Port, request: Request) -> Response:
    return JSONResponse(document())


async def _cluster(port: Port, request: Request) -> Response:
    return JSONResponse(views.cluster(port.stage, port.addresses, port.about))


async def _stop(port: Port, request: Request) -> Response:
    port.stop()
    return JSONResponse({"stopping": True}, 202)


async def _act(port: Port, request: Request) -> Response:
    data = await _body(request)
    _done(port, port.stage.carry_out, read_action(data, port.stage))
    return JSONResponse({"done": data, "seq": port.tail.last_seq, "now_us": port.loop.now_us})


# --- groups ---------------------------------------------------------------------------------------------------------


async def _groups(port: Port, request: Request) -> Response:
    lines = [views.group_line(port.stage.cluster.snapshot(name), name, _home(port, name)) for name in _all_groups(port)]
    return JSONResponse({"groups": lines, "now_us": port.loop.now_us})


def _all_groups(port: Port) -> list[str]:
    return port.stage.group_ids()


def _home(port: Port, group: str) -> int | None:
    try:
        return port.stage.replicated.coordinator_of(group)[0]
    except LookupError:
        return None


async def _group(port: Port, request: Request) -> Response:
    return JSONResponse(_seen(port, request.path_params["group"]))


def _seen(port: Port, name: str) -> dict[str, Any]:
    snapshot, home = port.stage.cluster.snapshot(name), _home(port, name)
    if snapshot is None or home is None:
        known = _all_groups(port)
        detail = "it has no coordinator now" if home is None else "it has no members yet, or was deleted"
        raise Problem(404, f"unknown group {name!r}", detail, remedy=suggest(name, known, "groups"))
    return views.group(snapshot, home, port.loop.now_us)


async def _await_group(port: Port, request: Request) -> Response:
    name, query = request.path_params["group"], request.query_params
    _only(request, "state", "members", "generation", "timeout")
    state, members, generation = query.get("state"), _number(request, "members"), _number(request, "generation")
    if state is not None and state not in STATES:
        raise Problem(422, f"unknown group state {state!r}", remedy=suggest(state, STATES, "states"))

    def holds() -> bool:
        seen = port.stage.cluster.snapshot(name)
        if seen is None:
            return members == 0 and state in (None, "Dead")
        return (
            state in (None, seen.state)
            and members in (None, len(seen.members))
            and (generation is None or seen.generation >= generation)
        )

    if not await port.loop.until(lambda: port.tail.ended or holds(), _timeout(request)) or port.tail.ended:
        wanted = ", ".join(f"{key} {value}" for key, value in query.items() if key != "timeout") or "known"
        seen = port.stage.cluster.snapshot(name)
        now = "it has no members yet" if seen is None else f"it is {seen.state} with {len(seen.members)} members"
        raise Problem(504, f"group {name!r} did not reach {wanted} in time", now, group=_or_none(port, name))
    return JSONResponse(_or_none(port, name) or {"group_id": name, "state": "Dead", "members": []})


def _or_none(port: Port, name: str) -> dict[str, Any] | None:
    try:
        return _seen(port, name)
    except Problem:
        return None


# --- faults ---------------------------------------------------------------------------------------------------------


def _shown(port: Port, fault: LiveFault) -> dict[str, Any]:
    return fault.document(port.loop.now_us)


async def _faults(port: Port, request: Request) -> Response:
    return JSONResponse({"faults": [_shown(port, fault) for fault in port.book.all()]})


async def _begin_fault(port: Port, request: Request) -> Response:
    fault = _done(port, port.book.begin, await _body(request))
    return JSONResponse(_shown(port, fault), 201, headers={"Location": f"/faults/{fault.id}"})


async def _fault(port: Port, request: Request) -> Response:
    return JSONResponse(_shown(port, port.book.get(request.path_params["fault"])))


async def _end_fault(port: Port, request: Request) -> Response:
    return JSONResponse(_shown(port, _done(port, port.book.end, request.path_params["fault"])))


async def _await_fault(port: Port, request: Request) -> Response:
    _only(request, "hits", "timeout")
    fault, wanted = port.book.get(request.path_params["fault"]), _number(request, "hits") or 1
    if fault.hits is None:
        raise Problem(409, f"fault {fault.id} has no count of hits", remedy="await the group's state instead")

    def struck() -> bool:
        return (fault.hits or 0) >= wanted or fault.over(port.loop.now_us) or port.tail.ended

    await port.loop.until(struck, _timeout(request))
    if (fault.hits or 0) < wanted:
        why = "it is over" if fault.over(port.loop.now_us) else "the timeout is over"
        detail = f"{why}; it has seen {fault.seen} and struck {fault.hits}"
        raise Problem(504, f"fault {fault.id} has not struck {wanted} times", detail, fault=_shown(port, fault))
    return JSONResponse(_shown(port, fault))


# --- the trace ------------------------------------------------------------------------------------------------------


async def _trace(port: Port, request: Request) -> Response:
    _only(request, "follow", "from", "kind", "group", "last")
    query = request.query_params
    kinds = [_kind(name) for text in query.getlist("kind") for name in text.split(",")]
    follow = query.get("follow", "false")
    if follow not in ("true", "false"):
        raise Problem(422, f"`follow` is true or false, not {follow!r}")
    wanted = Wanted(_number(request, "from") or 1, frozenset(kinds), query.get("group"), _number(request, "last"))
    lines = port.tail.lines(wanted, follow=follow == "true")
    return StreamingResponse(lines, media_type="application/x-ndjson", headers={"Cache-Control": "no-store"})


def _kind(name: str) -> Kind:
    names = [kind.value for kind in Kind]
    if name not in names:
        raise Problem(422, f"unknown kind of event {name!r}", remedy=suggest(name, names, "kinds"))
    return Kind(name)


# --- queries --------------------------------------------------------------------------------------------------------


def _only(request: Request, *known: str) -> None:
    """Raise Problem for an unknown parameter."""
    for name in request.query_params:
        if name not in known:
            raise Problem(422, f"unknown parameter {name!r}", remedy=suggest(name, known, "parameters here"))


def _number(request: Request, name: str) -> int | None:
    text = request.query_params.get(name)
    if text is None:
        return None
    if not text.isdecimal() or len(text) > 18:
        raise Problem(422, f"`{name}` is a whole number, not {text!r}")
    return int(text)


def _timeout(request: Request) -> int:
    text = request.query_params.get("timeout", DEFAULT_WAIT)
    try:
        timeout_us = parse_duration(text)
    except ValueError as error:
        raise Problem(422, "`timeout` is a duration", str(error)) from None
    if timeout_us > LONGEST_WAIT_US:
        raise Problem(422, f"`timeout` is {text}, the limit is 10m", remedy="wait at most 10m, and repeat the request")
    return timeout_us


ROUTES: tuple[tuple[str, str, Handler], ...] = (
    ("GET", "/openapi.json", _openapi),
    ("GET", "/cluster", _cluster),
    ("POST", "/actions", _act),
    ("GET", "/groups", _groups),
    ("GET", "/groups/{group:path}/await", _await_group),
    ("GET", "/groups/{group:path}", _group),
    ("GET", "/faults", _faults),
    ("POST", "/faults", _begin_fault),
    ("GET", "/faults/{fault}", _fault),
    ("DELETE", "/faults/{fault}", _end_fault),
    ("GET", "/faults/{fault}/await", _await_fault),
    ("GET", "/trace", _trace),
    ("POST", "/stop", _stop),
)
