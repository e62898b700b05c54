"""A broker's part of ACL requests: it describes the ACLs of its image and forwards changes to the controller.

Source: `AclApis`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from groupsim.cluster.acl.control import refused
from groupsim.coordinator.base.interfaces import Call
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.acl import (
    CreateAclsRequest,
    DeleteAclsRequest,
    DescribeAclsRequest,
    DescribeAclsResponse,
)
from groupsim.protocol.messages.cluster import ClusterImage

_TIMEOUT_US: Final = 30_000_000
"""Requests for ACLs have no timeout of their own: `request.timeout.ms` of the broker."""
_OFF: Final = "No Authorizer is configured"

PassOn = Callable[[Call, Any, int], None]


class AclRequests:
    """Handlers of ACL requests in one life of a broker, by request type (`handlers`).

    `enabled`: the broker has an authorizer; `pass_on` forwards a request to the controller with a timeout in µs.
    """

    def __init__(self, enabled: bool, image: Callable[[], ClusterImage], pass_on: PassOn) -> None:
        self._enabled = enabled
        self._image = image
        self._pass_on = pass_on
        self.handlers: dict[type, Callable[[Any, Any], None]] = {
            CreateAclsRequest: self._alter,
            DeleteAclsRequest: self._alter,
            DescribeAclsRequest: self._describe,
        }

    def _alter(self, call: Call, request: CreateAclsRequest | DeleteAclsRequest) -> None:
        if self._enabled:
            self._pass_on(call, request, _TIMEOUT_US)
        else:
            call.answer(refused(request, ErrorCode.SECURITY_DISABLED, f"{_OFF}."))

    def _describe(self, call: Call, request: DescribeAclsRequest) -> None:
        if self._enabled:
            acls = tuple(sorted(acl for acl in self._image().acls if request.filter.takes(acl)))
            call.answer(DescribeAclsResponse(message="", acls=acls))
        else:
            call.answer(refused(request, ErrorCode.SECURITY_DISABLED, f"{_OFF} on the broker"))
