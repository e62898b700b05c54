"""Names of the exceptions of Kafka's Java client."""

from __future__ import annotations

import pytest

from groupsim.members.profiles.exceptions import exception_name
from groupsim.protocol.errors import ErrorCode as E


@pytest.mark.parametrize(
    ("error", "name"),
    [
        (E.GROUP_AUTHORIZATION_FAILED, "GroupAuthorizationException"),
        (E.TOPIC_AUTHORIZATION_FAILED, "TopicAuthorizationException"),
        (E.INVALID_PRODUCER_ID_MAPPING, "InvalidPidMappingException"),
        (E.KAFKA_STORAGE_ERROR, "KafkaStorageException"),
        (E.NETWORK_EXCEPTION, "NetworkException"),
        (E.FENCED_INSTANCE_ID, "FencedInstanceIdException"),
        (E.GROUP_MAX_SIZE_REACHED, "GroupMaxSizeReachedException"),
    ],
)
def test_an_exception_is_called_as_kafka_calls_it(error: E, name: str) -> None:
    """An exception is named after its error, except in the cases of `Errors.java`: an operator greps for the name."""
    assert exception_name(error) == name
