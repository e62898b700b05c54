"""Client profiles: complete data, with the request versions of their age."""

from __future__ import annotations

from types import UnionType
from typing import get_origin, get_type_hints

import pytest
from attrs import evolve, fields

from groupsim.members.profiles import PROFILES, ClientProfile, RebalanceTimeout
from groupsim.members.profiles.reactions import JAVA, OTHERWISE, Reaction
from groupsim.protocol.errors import ErrorCode
from groupsim.protocol.messages.group import Api
from groupsim.protocol.messages.releases import BASELINE, broker_versions, client_version
from tests.helpers.members_fakes import subscription_of

GROUP_APIS = (
    Api.METADATA,
    Api.FIND_COORDINATOR,
    Api.JOIN_GROUP,
    Api.SYNC_GROUP,
    Api.HEARTBEAT,
    Api.LEAVE_GROUP,
    Api.OFFSET_COMMIT,
    Api.OFFSET_FETCH,
)
DATA_APIS = (Api.FETCH, Api.LIST_OFFSETS)
NAMES = sorted(PROFILES)


#: APIs that not every library sends.
NOT_IN_ALL = {Api.OFFSET_FOR_LEADER_EPOCH, Api.CONSUMER_GROUP_HEARTBEAT}


@pytest.mark.parametrize("name", NAMES)
def test_a_profile_speaks_versions_that_exist(name):
    """Every profile has a version of each API it sends that the baseline broker supports."""
    versions = PROFILES[name].versions
    assert set(versions) - NOT_IN_ALL == {*GROUP_APIS, *DATA_APIS}
    assert all(client_version(api, versions[api], BASELINE) == versions[api] for api in GROUP_APIS if versions[api] > 1)


@pytest.mark.parametrize("name", NAMES)
def test_a_profile_fetches_in_versions_that_exist(name):
    """Some broker of its age supports the profile's Fetch version."""
    versions = PROFILES[name].versions
    releases = ("0.9.0", "0.11.0", "2.8", "3.7", BASELINE)
    for api in (*DATA_APIS, Api.OFFSET_FOR_LEADER_EPOCH):
        if api in versions:
            takes = [broker_versions(release).get(api) for release in releases]
            assert any(range_ and versions[api] in range_ for range_ in takes), api


@pytest.mark.parametrize("name", NAMES)
def test_a_profile_sends_what_its_join_can_carry(name):
    """Exactly the profiles with JoinGroup v0 send no rebalance timeout."""
    profile = PROFILES[name]
    unsent = profile.rebalance_timeout is RebalanceTimeout.UNSENT
    assert unsent == (profile.versions[Api.JOIN_GROUP] == 0)


@pytest.mark.parametrize("name", NAMES)
def test_every_value_of_a_profile_is_of_the_type_that_its_field_names(name):
    """Rows of the table have only known fields, which the type checker cannot see in mappings."""
    profile = PROFILES[name]
    rows = [getattr(profile, field.name) for field in fields(ClientProfile) if str(field.type).endswith("Row")]
    assert len(rows) > 10
    for part in (profile, *rows):
        for field, wanted in get_type_hints(type(part)).items():
            kind = wanted if isinstance(wanted, UnionType) else get_origin(wanted) or wanted
            assert isinstance(getattr(part, field), kind), field


def test_a_profile_with_other_values_keeps_the_rest():
    """`but` changes one field of a row, and refuses an unknown name."""
    java = PROFILES["java"]
    stays = java.but(leaving={"on_close": False})
    assert stays == evolve(java, leaving=evolve(java.leaving, on_close=False))
    with pytest.raises(TypeError, match="leaves_on_close"):
        java.but(leaves_on_close=False)
    with pytest.raises(TypeError, match="at_close"):
        java.but(leaving={"at_close": False})


@pytest.mark.parametrize("name", NAMES)
def test_only_profiles_with_a_thread_enforce_the_poll_limit(name):
    """Only a library with a background thread has a max.poll.interval.ms (KIP-62)."""
    profile = PROFILES[name]
    assert not profile.poll_limit.enforced or profile.pace.heartbeats_in_background


@pytest.mark.parametrize(
    ("name", "api", "error", "reaction"),
    [
        ("java-2.8", Api.HEARTBEAT, ErrorCode.ILLEGAL_GENERATION, Reaction.RESET_MEMBER),
        ("java-2.8", Api.OFFSET_COMMIT, ErrorCode.REBALANCE_IN_PROGRESS, Reaction.REJOIN),
        ("java-0.11", Api.SYNC_GROUP, ErrorCode.ILLEGAL_GENERATION, Reaction.RESET_MEMBER),
        ("java-0.11", Api.OFFSET_COMMIT, ErrorCode.REBALANCE_IN_PROGRESS, Reaction.RESET_MEMBER),
        ("java-0.9", Api.HEARTBEAT, ErrorCode.ILLEGAL_GENERATION, Reaction.RESET_GENERATION),
        ("java-3.3", Api.SYNC_GROUP, ErrorCode.REBALANCE_IN_PROGRESS, Reaction.RESET_GENERATION),
        ("java", Api.SYNC_GROUP, ErrorCode.REBALANCE_IN_PROGRESS, Reaction.REJOIN),
        ("java", Api.JOIN_GROUP, ErrorCode.UNKNOWN_MEMBER_ID, Reaction.RESET_MEMBER),
        ("java", Api.SYNC_GROUP, ErrorCode.ILLEGAL_GENERATION, Reaction.RESET_GENERATION),
        ("java", Api.SYNC_GROUP, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, Reaction.THROW),
        ("java", Api.HEARTBEAT, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, Reaction.BACKOFF),
        ("java", Api.OFFSET_COMMIT, ErrorCode.REQUEST_TIMED_OUT, Reaction.REDISCOVER),
        ("brod", Api.SYNC_GROUP, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, Reaction.RETRY),
        ("brod", Api.SYNC_GROUP, ErrorCode.UNKNOWN_MEMBER_ID, Reaction.RESET_MEMBER),
    ],
)
def test_reactions_are_javas_unless_a_profile_says_otherwise(name, api, error, reaction):
    """A profile overrides single rows of the tables; the others are the Java consumer's."""
    assert PROFILES[name].reaction(api, error) is reaction


def test_every_api_with_a_table_has_a_row_for_the_rest():
    """Every error has a reaction."""
    assert set(JAVA) == set(OTHERWISE)


def test_aliases_stand_for_an_age():
    """`java` is the 3.x client, and each family's plain name is one of its profiles."""
    assert PROFILES["java"].name == "java-3.9"
    assert PROFILES["java-2.x"].name == "java-2.8"
    assert PROFILES["librdkafka"].name == "librdkafka-2.x"


def test_librdkafka_says_no_generation_and_no_user_data_with_an_eager_assignor(on_bench):
    """Its subscription under range is equal in every round, so a rejoin alone moves nothing."""

    async def body(bench):
        await bench.stable()
        bench.broker.rebalance()
        await bench.run_for(5)
        first, *_, last = [subscription_of(request) for request in bench.broker.all(Api.JOIN_GROUP)]
        assert (last.generation, last.user_data, last.owned) == (None, b"", ())
        assert first == last

    on_bench(body, profile="librdkafka")


def test_a_profile_of_the_same_name_agrees_on_versions_of_its_own(on_bench, monkeypatch):
    """Negotiated versions are shared by profile, not by name."""
    spoken = []

    async def body(bench):
        await bench.stable()
        spoken.append(bench.broker.last(Api.JOIN_GROUP).version)

    on_bench(body)
    older = {**PROFILES["java"].versions, Api.JOIN_GROUP: 5}
    monkeypatch.setitem(PROFILES, "java", evolve(PROFILES["java"], versions=older))
    on_bench(body)
    monkeypatch.undo()
    on_bench(body)
    assert spoken == [PROFILES["java"].versions[Api.JOIN_GROUP], 5, PROFILES["java"].versions[Api.JOIN_GROUP]]
