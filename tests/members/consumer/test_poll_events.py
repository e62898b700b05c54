"""When the application's thread of Java's asynchronous consumer looks at its work (`members/consumer/poll_events.py`).

The consumers play stories of the twins, in virtual time: the pause before a request says when the thread looked.
"""

from __future__ import annotations

from collections.abc import Mapping

from groupsim.members.profiles import PROFILES
from groupsim.protocol.messages.group import Api
from tests.twins.consumer.story import BEAT, ConsumerStory, after, target
from tests.twins.simulated import play_simulated
from tests.twins.story import FETCH, Rule, answer
from tests.twins.writing import Told

_TITLES: Mapping[Api, str] = {BEAT: "ConsumerGroupHeartbeat", FETCH: "OffsetFetch"}


def told(*rules: Rule, poll_ms: int, profile: str = "java-4.x", **more: object) -> Told:
    """What a consumer did that polls for so long at a time."""
    story = ConsumerStory("a member", rules, 2900, poll_ms=poll_ms, **more)  # type: ignore[arg-type]
    return play_simulated(story, PROFILES[profile])


def pauses(play: Told, api: Api) -> list[str]:
    """The pauses before the requests of an API."""
    pairs = zip(play.requests, play.pauses, strict=True)
    return [pause for request, pause in pairs if request.startswith(_TITLES[api])]


def test_in_a_long_poll_the_acknowledgement_waits_for_a_look() -> None:
    """The callback runs retry.backoff.ms after the poll began, and positions are looked up one look later."""
    play = told(poll_ms=1000)
    assert pauses(play, BEAT)[:2] == ["at once", "0.2 s"]
    assert pauses(play, FETCH) == ["0.2 s"]


def test_in_short_polls_the_acknowledgement_follows_soon() -> None:
    """A poll of 20 ms looks at its work at its end, and the next one looks positions up."""
    play = told(poll_ms=20)
    assert pauses(play, BEAT)[:2] == ["at once", "at once"]
    assert pauses(play, FETCH) == ["at once"]


def test_positions_wait_for_the_next_event() -> None:
    """The acknowledgement leaves with the callback: when it loses the coordinator, no look-up has gone out."""
    play = told(answer(BEAT, 2, "NOT_COORDINATOR"), poll_ms=20)
    assert next(request for request in play.requests if request.startswith("OffsetFetch")).endswith("t-1@-1")
    kinds = [request.split()[0] for request in play.requests[:5]]
    assert kinds == ["FindCoordinator", _TITLES[BEAT], _TITLES[BEAT], "FindCoordinator", _TITLES[BEAT]]


def test_before_4_3_the_thread_looks_at_once() -> None:
    """The profile of 4.2 acknowledges in a long poll without a pause."""
    assert pauses(told(poll_ms=1000, profile="java-4.2"), BEAT)[:2] == ["at once", "at once"]


def test_a_fetch_that_comes_back_ends_the_wait() -> None:
    """With Fetches of 50 ms a partition is given up within a tenth of a second, also in a long poll."""
    play = told(target(3, 100, "t-0"), poll_ms=1000, interval_ms=600)
    at = next(at for at, request in enumerate(play.requests) if request.endswith("-> epoch 2 [t-0]"))
    assert (play.requests[at + 1].split(" -> ")[0][-10:], play.pauses[at + 1]) == ("owns [t-0]", "at once")


def test_an_application_that_closes_is_not_kept_waiting() -> None:
    """A close ends a long poll: the heartbeat that leaves follows at once."""
    play = told(after(3, 200, "close"), poll_ms=1000)
    assert play.requests[-1].split(" -> ")[0].endswith("epoch -1 topics [] owns []")
    assert (play.pauses[-1], play.application[-1]) == ("0.2 s", "closed")


def test_a_refused_look_up_is_thrown_at_the_next_look() -> None:
    """GROUP_AUTHORIZATION_FAILED of a look-up ends the event, and the poll that looks at it throws."""
    play = told(answer(FETCH, 1, "GROUP_AUTHORIZATION_FAILED"), poll_ms=1000)
    assert "threw GroupAuthorizationException" in play.application
