"""Settings: DescribeConfigs and IncrementalAlterConfigs.

Sources: `DescribeConfigsRequest.json`, `IncrementalAlterConfigsRequest.json`; KIP-226, KIP-339, KIP-569.
"""

from __future__ import annotations

from collections.abc import Sequence

from groupsim.protocol.admin_messages import (
    ConfigEntry,
    ConfigsAsked,
    ConfigsDescribed,
    ConfigsToAlter,
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from groupsim.protocol.basics import Api
from groupsim.protocol.wire.exchange import Directory, Exchange
from groupsim.protocol.wire.headers import Header
from groupsim.protocol.wire.serial import Fields
from groupsim.protocol.wire.translation import Translation, one, parts

# --- DescribeConfigs ---------------------------------------------------------------------------------------------


def _describe(fields: Fields, header: Header, directory: Directory) -> Exchange:
    synonyms, documentation = fields["include_synonyms"], fields.get("include_documentation", False)
    requests = [
        DescribeConfigsRequest(tuple([_asked(resource) for resource in part]), synonyms, documentation, header.version)
        for part in parts(fields["resources"])
    ]

    def tell(answers: Sequence[DescribeConfigsResponse]) -> Fields:
        results = [_described(result, requests[0]) for answer in answers for result in answer.results]
        return {"throttle_time": 0, "results": results}

    return Translation(header, tuple(requests), tell)


def _asked(resource: Fields) -> ConfigsAsked:
    names = resource["configuration_keys"]
    return ConfigsAsked(resource["resource_type"], resource["resource_name"], None if names is None else tuple(names))


def _described(result: ConfigsDescribed, request: DescribeConfigsRequest) -> Fields:
    return {
        "error_code": result.error,
        "error_message": result.message,
        "resource_type": result.type,
        "resource_name": result.name,
        "configs": [_entry(entry, request) for entry in result.entries],
    }


def _entry(entry: ConfigEntry, request: DescribeConfigsRequest) -> Fields:
    """One setting; synonyms and words are told to those who ask for them."""
    synonyms = entry.synonyms if request.synonyms else ()
    return {
        "name": entry.name,
        "value": entry.value,
        "read_only": entry.read_only,
        "config_source": entry.source,
        "is_sensitive": entry.sensitive,
        "synonyms": [{"name": name, "value": value, "source": source} for name, value, source in synonyms],
        "config_type": entry.type,
        "documentation": entry.documentation if request.documentation else None,
    }


# --- IncrementalAlterConfigs -------------------------------------------------------------------------------------


def _alter(fields: Fields, header: Header, directory: Directory) -> Exchange:
    request = IncrementalAlterConfigsRequest(
        resources=tuple([_changes(resource) for resource in fields["resources"]]),
        validate_only=fields["validate_only"],
        version=header.version,
    )
    return one(header, request, _tell_altered)


def _changes(resource: Fields) -> ConfigsToAlter:
    changes = [(config["name"], config["config_operation"], config["value"]) for config in resource["configs"]]
    return ConfigsToAlter(resource["resource_type"], resource["resource_name"], tuple(changes))


def _tell_altered(answer: IncrementalAlterConfigsResponse) -> Fields:
    results = [
        {"error_code": error, "error_message": why, "resource_type": kind, "resource_name": name}
        for kind, name, error, why in answer.results
    ]
    return {"throttle_time": 0, "responses": results}


READERS = {Api.DESCRIBE_CONFIGS: _describe, Api.INCREMENTAL_ALTER_CONFIGS: _alter}
"""API → what makes an exchange of a request's fields."""
