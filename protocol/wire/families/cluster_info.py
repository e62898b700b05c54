"""DescribeCluster: the brokers and their addresses.

Only brokers are listed; a request for controllers is refused. Fenced brokers are listed when the request asks for them,
since version 2 (KIP-1073).

Sources: `AuthHelper.computeDescribeClusterResponse`, `DescribeClusterRequest.json`; KIP-700, KIP-919.
"""

from __future__ import annotations

from collections.abc import Sequence

from groupsim.protocol.basics import Api
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.admin import DescribeClusterRequest, DescribeClusterResponse
from groupsim.protocol.wire.exchange import Directory, Exchange
from groupsim.protocol.wire.headers import Header
from groupsim.protocol.wire.serial import Fields
from groupsim.protocol.wire.translation import Translation

_BROKERS, _CONTROLLERS = 1, 2  # types of endpoints


def _describe(fields: Fields, header: Header, directory: Directory) -> Exchange:
    request = DescribeClusterRequest(
        include_authorized_operations=fields["include_cluster_authorized_operations"],
        include_fenced=fields.get("include_fenced_brokers", False),
        version=header.version,
    )
    kind = fields.get("endpoint_type", _BROKERS)

    def encode(answers: Sequence[DescribeClusterResponse]) -> Fields:
        if kind != _BROKERS:
            return _unsupported_endpoint(kind)
        return _response(request, answers[0], directory)

    requests = (request,) if kind == _BROKERS else ()
    return Translation(header, requests, encode)


def _unsupported_endpoint(kind: int) -> Fields:
    if kind == _CONTROLLERS:
        error = ErrorCode.MISMATCHED_ENDPOINT_TYPE
        why = "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER"
    else:
        error, why = ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, f"Unsupported endpoint type {kind}"
    return {"throttle_time": 0, "error_code": error, "error_message": why, "cluster_id": "", "brokers": ()}


def _response(request: DescribeClusterRequest, answer: DescribeClusterResponse, directory: Directory) -> Fields:
    if answer.error:
        return {"throttle_time": 0, "error_code": answer.error, "cluster_id": "", "brokers": ()}
    controller, nodes = directory.controller, [node for node, _ in answer.brokers]
    return {
        "throttle_time": 0,
        "error_code": ErrorCode.NONE,
        "cluster_id": directory.cluster_id,
        "controller_id": controller if controller in nodes else -1,
        "brokers": [_broker(node, fenced, directory) for node, fenced in answer.brokers],
        "cluster_authorized_operations": answer.operations,
    }


def _broker(node: int, fenced: bool, directory: Directory) -> Fields:
    host, port = directory.address(node)
    return {"broker_id": node, "host": host, "port": port, "rack": directory.rack(node), "is_fenced": fenced}


READERS = {Api.DESCRIBE_CLUSTER: _describe}
"""API → the function that makes an exchange from a request's fields."""
