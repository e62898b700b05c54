"""The real clients are asked again: their stories are recorded, or compared with what was recorded before.

python -m tests.twins                   plays all stories with each real client, compares them with the facts
python -m tests.twins join              those with `join` in their names
python -m tests.twins --client java …   with one client
python -m tests.twins --client java --record 5 …     plays them five times, and keeps what came of it
python -m tests.twins --simulated …     the simulated consumers against the facts
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from groupsim.members.profiles import PROFILES
from tests.twins import facts, mixed
from tests.twins.clients import (
    AIOKAFKA,
    FRANZ_GO_CONSUMER,
    JAVA,
    JAVA_CONSUMER,
    JAVA_MIXED,
    KAFKA_PYTHON_2_0,
    KAFKA_PYTHON_2_3,
    KAFKA_PYTHON_3,
    LIBRDKAFKA,
    LIBRDKAFKA_CONSUMER,
    OLDER_JAVA,
    OLDER_JAVA_CONSUMERS,
    OLDER_LIBRDKAFKA_CONSUMERS,
    Client,
    Unavailable,
)
from tests.twins.consumer import stories as consumer_stories
from tests.twins.consumer.differs import BEYOND_IT
from tests.twins.held_up import LIMIT_US
from tests.twins.simulated import play_simulated
from tests.twins.stories import ALL
from tests.twins.story import Story
from tests.twins.writing import Told

TRIES = 6
PLAYS = 12
"""So often a story is played at most, in real time, until it was like its fact or differed often enough."""


class TooBusy(Exception):
    """Stories differed whenever they were played, and each time the machine may be why; their names."""


def main(arguments: Sequence[str]) -> int:
    """Do what was asked; 1 when anything differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.twins", description=__doc__.split("\n", 1)[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--record", type=int, metavar="TIMES")
    parser.add_argument("--simulated", action="store_true")
    parser.add_argument("--client", choices=sorted(_CLIENTS))
    asked = parser.parse_args(arguments)
    if asked.record and not asked.client:
        parser.error("--record needs to know of which --client")
    clients = [_CLIENTS[asked.client]] if asked.client else _CLIENTS.values()
    return max([_asked(client, asked) for client in clients])


def stories_of(client: Client) -> Sequence[Story]:
    """The stories that a client may play: those of its protocol."""
    return {"consumer": consumer_stories.ALL, "mixed": mixed.ALL}.get(client.protocol, ALL)


def _asked(client: Client, asked: argparse.Namespace) -> int:
    """Ask one client; 1 when anything differs. One that cannot be had here is named, and no failure."""
    all_of_it = stories_of(client)
    named = [one for one in all_of_it if not asked.names or any(name in one.name for name in asked.names)]
    stories = [story for story in map(client.fitted, named) if story is not None]
    try:
        if asked.record:
            record(client, stories, asked.record)
            return 0
        stories = [one for one in stories if one.slug in facts.kept(client.name)]
        if asked.simulated and not client.profile:
            print(f"{client.name}: no profile does the same yet")
            return 0
        if asked.simulated:
            stories = [story for story in stories if not story.differs and story.name not in BEYOND_IT]
            return _report(client, stories, compared(client, stories, simulated, 1))
        return _report(client, stories, compared(client, stories, live, TRIES))
    except Unavailable as why:
        print(f"{client.name}: {why}")
        return 0
    except TooBusy as busy:
        print(f"{client.name}: the machine was too busy to judge {busy}")
        return 1


_CLIENTS = {
    "java": JAVA,
    "java-consumer": JAVA_CONSUMER,
    "java-mixed": JAVA_MIXED,
    **{f"{client.name.rsplit('.', 1)[0]}-consumer": client for client in OLDER_JAVA_CONSUMERS},
    **{client.name.rsplit(".", 1)[0]: client for client in OLDER_JAVA},
    "librdkafka": LIBRDKAFKA,
    "librdkafka-consumer": LIBRDKAFKA_CONSUMER,
    **{f"{client.name.rsplit('.', 1)[0]}-consumer": client for client in OLDER_LIBRDKAFKA_CONSUMERS},
    "franz-go-consumer": FRANZ_GO_CONSUMER,
    "kafka-python-2.0": KAFKA_PYTHON_2_0,
    "kafka-python-2.3": KAFKA_PYTHON_2_3,
    "kafka-python-3.0": KAFKA_PYTHON_3,
    "aiokafka": AIOKAFKA,
}


def simulated(client: Client, stories: Sequence[Story]) -> Mapping[str, Told]:
    """What the simulated twin did, as far as it is heard."""
    profile = PROFILES[client.profile]
    return {story.name: _heard(client, play_simulated(story, profile, client.unseen)) for story in stories}


def live(client: Client, stories: Sequence[Story]) -> Mapping[str, Told]:
    """What the real client did, as far as it is heard. Raises `kafka_jars.Unavailable`."""
    from tests.twins.live import play_live

    return {name: _heard(client, told) for name, told in play_live(client, stories).items()}


def _heard(client: Client, told: Told) -> Told:
    told = facts.heard(told, client.hears)
    told = facts.unsorted(told) if client.unsorted else told
    told = facts.loosely(told) if client.loosely else told
    return facts.eventful(told) if client.eventful else told


def record(client: Client, stories: Sequence[Story], times: int) -> None:
    """Play stories several times with the real client and keep the facts."""
    plays = [live(client, stories) for _ in range(times)]
    for story in stories:
        told = [play[story.name] for play in plays if story.name in play]
        if not told:
            print(f"{story.name}: not offered")
            continue
        fact = gathered(told)
        facts.write(client.name, story, fact)
        for one in filter(None, map(fact.differences, told)):
            print(f"{story.name}: seen once\n" + "\n".join(f"    {line}" for line in one if line[0] in "+-"))


def gathered(plays: Sequence[Told]) -> facts.Fact:
    """The fact of a story: of the plays that the machine did not hold up, where there are two of them."""
    quick = [told for told in plays if told.held_up_us <= LIMIT_US]
    return facts.gathered(quick) if len(quick) > 1 else facts.gathered(plays, delayed=True)


def compared(
    client: Client, stories: Sequence[Story], play: Callable[[Client, Sequence[Story]], Mapping[str, Told]], tries: int
) -> dict[str, list[str]]:
    """What differs from the facts, by story, each time it was tried; a story that was the same once is not there.

    A play that the machine held up is no try. Raises TooBusy when there were not enough others.
    """
    wrong: dict[str, list[str]] = {}
    against: Counter[str] = Counter()
    unclear = list(stories)
    for _ in range(PLAYS if tries > 1 else 1):
        told = play(client, unclear) if unclear else {}
        for one in unclear:
            wrong[one.name] = _differences(client, one, told.get(one.name), late=tries > 1)
            against[one.name] += one.name not in told or told[one.name].held_up_us <= LIMIT_US
        unclear = [one for one in unclear if wrong[one.name] and against[one.name] < tries]
    sure = {name: lines for name, lines in wrong.items() if lines and against[name] >= tries}
    if unclear and not sure:
        raise TooBusy(", ".join(one.name for one in unclear))
    return sure


def _differences(client: Client, story: Story, told: Told | None, *, late: bool) -> list[str]:
    if told is None:
        return ["+it was not played: the client gave up before the story began"]
    return facts.read(client.name, story).differences(told, late=late)


def _report(client: Client, stories: Sequence[Story], wrong: Mapping[str, Sequence[str]]) -> int:
    for name, lines in wrong.items():
        print(f"{name}:")
        print("\n".join(f"    {line}" for line in lines))
    print(f"{client.name}: {len(stories)} stories, {len(wrong)} differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
