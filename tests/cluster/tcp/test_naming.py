"""What real clients are called in the trace and to faults."""

from __future__ import annotations

import pytest

from groupsim.cluster.tcp import naming
from groupsim.cluster.tcp.naming import Names, java_host, purpose_of
from groupsim.protocol.basics import Api
from groupsim.protocol.wire.registry import READERS


def test_one_client_id_from_several_addresses_gets_numbers() -> None:
    """The first address has the id alone, each further one a number; a client without an id has its address."""
    names = Names()
    assert [names.of("app", address) for address in ("10.0.0.1", "10.0.0.2", "10.0.0.1")] == ["app", "app#2", "app"]
    assert names.of("", "10.0.0.3") == "10.0.0.3"


def test_what_is_remembered_of_client_ids_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a very long client id the beginning is the name; beyond so many names nothing more is remembered."""
    names = Names()
    assert names.of("x" * 32_767, "10.0.0.1") == "x" * 250
    monkeypatch.setattr(naming, "_MAX_NAMES", 1)
    assert [names.of("late", address) for address in ("10.0.0.1", "10.0.0.2")] == ["late", "late"]


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("127.0.0.1", "/127.0.0.1"),
        ("::ffff:10.0.0.7", "/10.0.0.7"),  # of IPv4, by a socket for both
        ("::1", "/0:0:0:0:0:0:0:1"),
        ("fe80::a%eth0", "/fe80:0:0:0:0:0:0:a"),
    ],
)
def test_addresses_are_shown_as_java_prints_them(address: str, shown: str) -> None:
    """A member's host stands in DescribeGroups as `InetAddress.toString` writes it."""
    assert java_host(address) == shown


def test_every_request_but_three_says_what_its_connection_is_for() -> None:
    """Faults name connections by their purpose; an API of any connection does not change the purpose."""
    assert {api for api in READERS if purpose_of(api) is None} == {Api.METADATA, Api.FIND_COORDINATOR}
    assert purpose_of(Api.API_VERSIONS) is None
