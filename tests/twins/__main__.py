"""The real client is asked again: its stories are recorded, or compared with what was recorded before.

python -m tests.twins                   plays all stories with the real client, compares them with the facts
python -m tests.twins join              those with `join` in their names
python -m tests.twins --record 5 …      plays them five times, and keeps what came of it
python -m tests.twins --simulated …     the simulated consumers against the facts
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence

from groupsim.members.profiles import PROFILES
from tests.twins import facts
from tests.twins.clients import JAVA, KAFKA_PYTHON_2_0, KAFKA_PYTHON_2_3, LIBRDKAFKA, Client
from tests.twins.simulated import play_simulated
from tests.twins.stories import ALL
from tests.twins.story import Story
from tests.twins.writing import Told

TRIES = 3


def main(arguments: Sequence[str]) -> int:
    """Do what was asked; 1 when anything differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.twins", description=__doc__.split("\n", 1)[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--record", type=int, metavar="TIMES")
    parser.add_argument("--simulated", action="store_true")
    parser.add_argument("--client", choices=sorted(_CLIENTS), default="java")
    asked = parser.parse_args(arguments)
    client = _CLIENTS[asked.client]
    named = [one for one in ALL if not asked.names or any(name in one.name for name in asked.names)]
    stories = [story for story in map(client.fitted, named) if story is not None]
    if asked.record:
        record(client, stories, asked.record)
        return 0
    stories = [one for one in stories if one.slug in facts.kept(client.name)]
    if asked.simulated:
        stories = [story for story in stories if not story.differs]
        return _report(stories, compared(client, stories, _simulated, 1))
    return _report(stories, compared(client, stories, live, TRIES))


_CLIENTS = {
    "java": JAVA,
    "librdkafka": LIBRDKAFKA,
    "kafka-python-2.0": KAFKA_PYTHON_2_0,
    "kafka-python-2.3": KAFKA_PYTHON_2_3,
}


def _simulated(client: Client, stories: Sequence[Story]) -> Mapping[str, Told]:
    profile = PROFILES[client.profile]
    return {story.name: facts.heard(play_simulated(story, profile, client.unseen), client.hears) for story in stories}


def live(client: Client, stories: Sequence[Story]) -> Mapping[str, Told]:
    """What the real client did, as far as it is heard. Raises `kafka_jars.Unavailable`."""
    from tests.twins.live import play_live

    return {name: facts.heard(told, client.hears) for name, told in play_live(client, stories).items()}


def record(client: Client, stories: Sequence[Story], times: int) -> None:
    """Play stories several times with the real client and keep the facts."""
    plays = [live(client, stories) for _ in range(times)]
    for story in stories:
        told = [play[story.name] for play in plays if story.name in play]
        if not told:
            print(f"{story.name}: not offered")
            continue
        fact = facts.gathered(told)
        facts.write(client.name, story, fact)
        for one in filter(None, map(fact.differences, told)):
            print(f"{story.name}: seen once\n" + "\n".join(f"    {line}" for line in one if line[0] in "+-"))


def compared(
    client: Client, stories: Sequence[Story], play: Callable[[Client, Sequence[Story]], Mapping[str, Told]], tries: int
) -> dict[str, list[str]]:
    """What differs from the facts, by story, each time it was tried; a story that was the same once is not there."""
    wrong: dict[str, list[str]] = {}
    for _ in range(tries):
        if stories:
            told = play(client, stories)
            found = {
                one.name: facts.read(client.name, one).differences(told[one.name], late=tries > 1) for one in stories
            }
            wrong = {name: lines for name, lines in found.items() if lines}
            stories = [one for one in stories if one.name in wrong]
    return wrong


def _report(stories: Sequence[Story], wrong: Mapping[str, Sequence[str]]) -> int:
    for name, lines in wrong.items():
        print(f"{name}:")
        print("\n".join(f"    {line}" for line in lines))
    print(f"{len(stories)} stories, {len(wrong)} differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
