"""The OpenAPI 3.1 document of the control port, generated from the classes that read the requests.

Each action and fault is a schema of its own, with the keys and descriptions of its class; so the document allows
exactly what the port reads. `docs/openapi.json` is this document; a test compares them.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from groupsim.scenarios.expectations.expectations import STATES
from groupsim.scenarios.language.keys import sentence
from groupsim.scenarios.language.registry import StepAction
from groupsim.scenarios.loading.schema import SchemaMaker
from groupsim.scenarios.steps.faults import OnLinks, OnMessages
from groupsim.serving.live_actions import live_actions, live_faults
from groupsim.serving.problems import CONTENT_TYPE
from groupsim.serving.steps import Aim

Data = dict[str, Any]
_JSON = "application/json"


@cache
def document() -> Data:
    """Return the whole document."""
    maker = SchemaMaker()
    actions = {name: _step("do", name, cls, maker) for name, cls in live_actions().items()}
    faults = {name: _step("fault", name, cls, maker) for name, cls in live_faults().items()}
    own = {_title("do", name): schema for name, schema in actions.items()}
    own |= {_title("fault", name): schema for name, schema in faults.items()}
    schemas = {
        **maker.definitions,
        **own,
        **_SCHEMAS,
        "Action": _one_of("do", actions),
        "Fault": _one_of("fault", faults),
    }
    made: Data = _moved(
        {
            "openapi": "3.1.0",
            "info": _INFO,
            "servers": [{"url": "http://127.0.0.1:{port}", "variables": {"port": {"default": "9080"}}}],
            "security": [{}, {"token": []}],
            "paths": _paths(),
            "components": {
                "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
                "responses": {"Problem": {"description": "The error, and the remedy.", "content": _problem()}},
                "schemas": dict(sorted(schemas.items())),
            },
        }
    )
    return made


_INFO = {
    "title": "groupsim serve: control port",
    "version": "1",
    "description": "Faults, queries and actions for a cluster that real Kafka clients are connected to. "
    "Durations are texts such as `300ms`, `10s` or `1m30s`; times (`_us`) are microseconds since 2026-01-01T00:00:00Z.",
}


def _title(head: str, name: str) -> str:
    return f"{head}.{name}"


def _one_of(head: str, steps: Data) -> Data:
    refs = {name: f"#/components/schemas/{_title(head, name)}" for name in steps}
    return {
        "oneOf": [{"$ref": ref} for ref in refs.values()],
        "discriminator": {"propertyName": head, "mapping": refs},
    }


def _step(head: str, name: str, cls: type[StepAction], maker: SchemaMaker) -> Data:
    """Return one action or fault: its own keys, and the filter of its targets."""
    own = maker.mapping(cls)
    properties, needed = dict(own["properties"]), list(own.get("required", []))
    if issubclass(cls, OnMessages | OnLinks):
        properties = {**maker.mapping(Aim)["properties"], **properties}
        needed = [key for key in needed if key not in ("to", "member")]
    return {
        "type": "object",
        "description": sentence(cls),
        "properties": {head: {"const": name}, **properties},
        "required": [head, *needed],
        "additionalProperties": False,
    }


def _moved(value: Any) -> Any:
    """Return references to `$defs`, as in JSON Schema, as references to OpenAPI's place of schemas."""
    if isinstance(value, dict):
        return {key: _ref(item) if key == "$ref" else _moved(item) for key, item in value.items()}
    return [_moved(item) for item in value] if isinstance(value, list) else value


def _ref(target: str) -> str:
    return target.replace("#/$defs/", "#/components/schemas/")


def _problem() -> Data:
    return {CONTENT_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}


def _answer(words: str, schema: str | None = None, *, status: str = "200", media: str = _JSON) -> Data:
    content = {} if schema is None else {"content": {media: {"schema": {"$ref": f"#/components/schemas/{schema}"}}}}
    return {status: {"description": words, **content}, "default": {"$ref": "#/components/responses/Problem"}}


def _query(name: str, words: str, schema: Data) -> Data:
    return {"name": name, "in": "query", "description": words, "schema": schema}


def _in_path(name: str, words: str) -> Data:
    return {"name": name, "in": "path", "required": True, "description": words, "schema": {"type": "string"}}


def _body(schema: str, example: Data) -> Data:
    content = {_JSON: {"schema": {"$ref": f"#/components/schemas/{schema}"}, "example": example}}
    return {"required": True, "content": content}


_NUMBER: Data = {"type": "integer", "minimum": 0}
_TIMEOUT = _query("timeout", "How long to wait, 10m at most.", {"type": "string", "default": "30s"})
_GROUP = _in_path("group", "The group's id.")
_FAULT = _in_path("fault", "The fault's id.")


def _paths() -> Data:
    return {**_cluster_paths(), **_group_paths(), **_fault_paths()}


def _cluster_paths() -> Data:
    return {
        "/openapi.json": {"get": {"operationId": "openapi", "summary": "This document.", "responses": _answer("It.")}},
        "/cluster": {
            "get": {
                "operationId": "cluster",
                "summary": "Brokers, topics and clients as they are now.",
                "responses": _answer("The cluster.", "Cluster"),
            }
        },
        "/actions": {
            "post": {
                "operationId": "act",
                "summary": "Do something now: a step of a scenario file, without `at`.",
                "requestBody": _body("Action", {"do": "move-coordinator", "group": "orders-app"}),
                "responses": _answer("It is done, or has begun.", "Done"),
            }
        },
        "/trace": {
            "get": {
                "operationId": "trace",
                "summary": "Events as JSON Lines; a reader that falls behind loses the oldest, and gets their number.",
                "parameters": [
                    _query("follow", "Go on with what is to come.", {"type": "boolean", "default": False}),
                    _query("from", "Begin at this `seq`.", _NUMBER),
                    _query("last", "Only so many of the events there are.", _NUMBER),
                    _query("kind", "Only these kinds, separated by commas.", {"type": "string"}),
                    _query("group", "Only events of this group.", {"type": "string"}),
                ],
                "responses": _answer("Events.", "Event", media="application/x-ndjson"),
            }
        },
        "/stop": {
            "post": {
                "operationId": "stop",
                "summary": "End the cluster: parked requests are answered, files are closed.",
                "responses": _answer("It has begun.", status="202"),
            }
        },
    }


def _group_paths() -> Data:
    return {
        "/groups": {
            "get": {
                "operationId": "groups",
                "summary": "Every group with its state.",
                "responses": _answer("The groups.", "Groups"),
            }
        },
        "/groups/{group}": {
            "get": {
                "operationId": "group",
                "summary": "A group with its members, timers and parked requests.",
                "parameters": [_GROUP],
                "responses": _answer("The group.", "Group"),
            }
        },
        "/groups/{group}/await": {
            "get": {
                "operationId": "awaitGroup",
                "summary": "Wait until the group matches; 504 after the timeout.",
                "parameters": [
                    _GROUP,
                    _query("state", "Its state, by Kafka's name.", {"enum": list(STATES)}),
                    _query("members", "Its number of members.", _NUMBER),
                    _query("generation", "Its generation, at least.", _NUMBER),
                    _TIMEOUT,
                ],
                "responses": _answer("The matching group.", "Group"),
            }
        },
    }


def _fault_paths() -> Data:
    example = {"fault": "answer-error", "to": "next SyncGroup of app", "is": "REBALANCE_IN_PROGRESS"}
    return {
        "/faults": {
            "get": {
                "operationId": "faults",
                "summary": "Every fault that was begun here.",
                "responses": _answer("The faults.", "Faults"),
            },
            "post": {
                "operationId": "beginFault",
                "summary": "Begin a fault.",
                "requestBody": _body("Fault", example),
                "responses": _answer("It has begun.", "LiveFault", status="201"),
            },
        },
        "/faults/{fault}": {
            "get": {
                "operationId": "fault",
                "summary": "A fault with its counts.",
                "parameters": [_FAULT],
                "responses": _answer("The fault.", "LiveFault"),
            },
            "delete": {
                "operationId": "endFault",
                "summary": "End a fault; held messages go out.",
                "parameters": [_FAULT],
                "responses": _answer("It is over.", "LiveFault"),
            },
        },
        "/faults/{fault}/await": {
            "get": {
                "operationId": "awaitFault",
                "summary": "Wait until the fault has this many hits; 504 after the timeout, or when it is over.",
                "parameters": [_FAULT, _query("hits", "The number of hits, 1 by default.", _NUMBER), _TIMEOUT],
                "responses": _answer("The fault.", "LiveFault"),
            }
        },
    }


def _object(words: str, required: str, **properties: Data) -> Data:
    return {"type": "object", "description": words, "properties": properties, "required": required.split()}


_TEXT: Data = {"type": "string"}
_MAYBE_NUMBER: Data = {"type": ["integer", "null"]}
_MAYBE_TEXT: Data = {"type": ["string", "null"]}
_MAPPING: Data = {"type": "object"}


def _list(of: Data) -> Data:
    return {"type": "array", "items": of}


_SCHEMAS: Data = {
    "Problem": _object(
        "An error (RFC 9457).",
        "type title status",
        type=_TEXT,
        title=_TEXT,
        status=_NUMBER,
        detail=_TEXT,
        remedy=_TEXT,
        errors=_list(_object("One mistake.", "pointer message", pointer=_TEXT, message=_TEXT, remedy=_TEXT)),
    ),
    "Done": _object("The action.", "done seq now_us", done=_MAPPING, seq=_NUMBER, now_us={"type": "integer"}),
    "Cluster": _object(
        "The cluster.",
        "bootstrap brokers topics clients now_us",
        bootstrap=_TEXT,
        cluster_id=_MAYBE_TEXT,
        api_profile=_TEXT,
        now_us={"type": "integer"},
        brokers=_list(
            _object(
                "A broker.",
                "id state host port",
                id=_NUMBER,
                state={"enum": ["up", "down", "frozen"]},
                host=_MAYBE_TEXT,
                port=_MAYBE_NUMBER,
            )
        ),
        topics=_list(_object("A topic.", "name partitions", name=_TEXT, partitions=_NUMBER)),
        clients=_list(_object("A client.", "name client_id host", name=_TEXT, client_id=_MAYBE_TEXT, host=_TEXT)),
        simulated=_list(_MAPPING),
    ),
    "Groups": _object(
        "Groups.", "groups now_us", groups=_list({"$ref": "#/$defs/GroupLine"}), now_us={"type": "integer"}
    ),
    "GroupLine": _object(
        "A group in short.",
        "group_id state members",
        group_id=_TEXT,
        state=_MAYBE_TEXT,
        members=_NUMBER,
        generation=_MAYBE_NUMBER,
        coordinator=_MAYBE_NUMBER,
    ),
    "Group": _object(
        "A group in its coordinator's view.",
        "group_id state members",
        group_id=_TEXT,
        state=_TEXT,
        generation=_MAYBE_NUMBER,
        leader=_MAYBE_TEXT,
        protocol=_MAYBE_TEXT,
        coordinator=_MAYBE_NUMBER,
        members=_list(_MAPPING),
        timers=_list(_object("A running timer.", "name due_us in_us", name=_TEXT, due_us={"type": "integer"})),
        parked=_list(_object("A request without an answer.", "what member_id until", what=_TEXT, until=_TEXT)),
    ),
    "LiveFault": _object(
        "A fault that was begun.",
        "id fault seen hits over",
        id=_TEXT,
        fault=_MAPPING,
        seen=_MAYBE_NUMBER,
        hits=_MAYBE_NUMBER,
        over={"type": "boolean"},
        began_us={"type": "integer"},
        means=_list(_TEXT),
    ),
    "Faults": _object("Faults.", "faults", faults=_list({"$ref": "#/$defs/LiveFault"})),
    "Event": _object("One event of the trace, on a line.", "seq t_us kind", seq=_NUMBER, kind=_TEXT),
}
