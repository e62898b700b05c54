"""Settings: DescribeConfigs, AlterConfigs, IncrementalAlterConfigs and ListConfigResources.

The listener's address is added here to a broker's `listeners` and `advertised.listeners`.

Sources: `DescribeConfigsRequest.json`, `AlterConfigsRequest.json`, `IncrementalAlterConfigsRequest.json`,
`ListConfigResourcesRequest.json`; KIP-133, KIP-226, KIP-339, KIP-569, KIP-1142.
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve

from groupsim.protocol.basics import Api
from groupsim.protocol.messages.admin import (
    BROKER_RESOURCE,
    SET,
    AlterConfigsRequest,
    AlterConfigsResponse,
    ConfigEntry,
    ConfigsAsked,
    ConfigsDescribed,
    ConfigsToAlter,
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)
from groupsim.protocol.wire.exchange import Directory, Exchange
from groupsim.protocol.wire.headers import Header
from groupsim.protocol.wire.serial import Fields
from groupsim.protocol.wire.translation import Translation, one, parts

_ADDRESSES = ("advertised.listeners", "listeners")

# --- DescribeConfigs ---------------------------------------------------------------------------------------------


def _describe(fields: Fields, header: Header, directory: Directory) -> Exchange:
    synonyms, documentation = fields["include_synonyms"], fields.get("include_documentation", False)
    requests = [
        DescribeConfigsRequest(tuple([_asked(resource) for resource in part]), synonyms, documentation, header.version)
        for part in parts(fields["resources"])
    ]

    def encode(answers: Sequence[DescribeConfigsResponse]) -> Fields:
        results = [_described(result, requests[0], directory) for answer in answers for result in answer.results]
        return {"throttle_time": 0, "results": results}

    return Translation(header, tuple(requests), encode)


def _asked(resource: Fields) -> ConfigsAsked:
    names = resource["configuration_keys"]
    return ConfigsAsked(resource["resource_type"], resource["resource_name"], None if names is None else tuple(names))


def _described(result: ConfigsDescribed, request: DescribeConfigsRequest, directory: Directory) -> Fields:
    listener = _listener(result, directory)
    entries = [_listening(entry, listener) if entry.name in _ADDRESSES else entry for entry in result.entries]
    return {
        "error_code": result.error,
        "error_message": result.message,
        "resource_type": result.type,
        "resource_name": result.name,
        "configs": [_entry(entry, request) for entry in entries],
    }


def _listener(result: ConfigsDescribed, directory: Directory) -> str:
    if result.type != BROKER_RESOURCE or not result.name.isdecimal():
        return ""
    host, port = directory.address(int(result.name))
    return f"PLAINTEXT://{host}:{port}"


def _listening(entry: ConfigEntry, listener: str) -> ConfigEntry:
    strongest = tuple((name, listener, source) for name, _, source in entry.synonyms[:1])
    return evolve(entry, value=listener, synonyms=(*strongest, *entry.synonyms[1:]))


def _entry(entry: ConfigEntry, request: DescribeConfigsRequest) -> Fields:
    """Return one setting, with synonyms and documentation if the request asks for them."""
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
    return one(header, request, _encode_altered)


def _replace(fields: Fields, header: Header, directory: Directory) -> Exchange:
    request = AlterConfigsRequest(
        resources=tuple([_replacement(resource) for resource in fields["resources"]]),
        validate_only=fields["validate_only"],
        version=header.version,
    )
    return one(header, request, _encode_altered)


def _replacement(resource: Fields) -> ConfigsToAlter:
    changes = [(config["name"], SET, config["value"]) for config in resource["configs"]]
    return ConfigsToAlter(resource["resource_type"], resource["resource_name"], tuple(changes))


def _changes(resource: Fields) -> ConfigsToAlter:
    changes = [(config["name"], config["config_operation"], config["value"]) for config in resource["configs"]]
    return ConfigsToAlter(resource["resource_type"], resource["resource_name"], tuple(changes))


def _encode_altered(answer: IncrementalAlterConfigsResponse | AlterConfigsResponse) -> Fields:
    results = [
        {"error_code": error, "error_message": why, "resource_type": kind, "resource_name": name}
        for kind, name, error, why in answer.results
    ]
    return {"throttle_time": 0, "responses": results}


# --- ListConfigResources -----------------------------------------------------------------------------------------


def _list(fields: Fields, header: Header, directory: Directory) -> Exchange:
    request = ListConfigResourcesRequest(tuple(fields.get("resource_types", ())), header.version)
    return one(header, request, _listed)


def _listed(answer: ListConfigResourcesResponse) -> Fields:
    resources = [{"resource_name": name, "resource_type": kind} for kind, name in answer.resources]
    return {"throttle_time": 0, "error_code": answer.error, "config_resources": resources}


READERS = {
    Api.DESCRIBE_CONFIGS: _describe,
    Api.ALTER_CONFIGS: _replace,
    Api.INCREMENTAL_ALTER_CONFIGS: _alter,
    Api.LIST_CONFIG_RESOURCES: _list,
}
"""API → the function that makes an exchange from a request's fields."""
