"""Defects of old client releases, asked of the real ones: what each does in its scene, kept as facts.

python -m tests.twins.old_clients                     asks all of them, and compares what they do with the facts
python -m tests.twins.old_clients KAFKA-12983         one defect
python -m tests.twins.old_clients --record 3 …        asks three times over, and keeps what came of it
python -m tests.twins.old_clients --simulated …       the simulated clients of the same releases against the facts

What is compared are the requests and what the application goes through, in their order. Pauses are not, nor requests
for the coordinator: so the machine may be busy.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import groupby

from attrs import evolve

from groupsim.protocol.messages.group import Api
from groupsim.scenarios.language.clients import simulated
from tests.twins import facts
from tests.twins.clients import Client, Unavailable, old_java
from tests.twins.old_libraries import old_franz_go, old_kafkajs, old_librdkafka, old_sarama
from tests.twins.old_scenes import SCENES, Scene
from tests.twins.simulated import play_simulated
from tests.twins.writing import Told

TRIES = 3
_UNSEEN = frozenset({Api.FIND_COORDINATOR})
_CLIENTS = {
    "java": old_java,
    "librdkafka": old_librdkafka,
    "kafkajs": old_kafkajs,
    "sarama": old_sarama,
    "franz-go": old_franz_go,
}
_ALL = ("",)
#: What its application hears; kafkajs calls nobody back for what is revoked.
_HEARS = {"kafkajs": ("assigned", "threw", "closed")}


def folder(scene: Scene, release: str) -> str:
    """Where the facts of a release lie, below those of all clients."""
    return f"old/{scene.library}-{release}"


def client_of(scene: Scene, release: str) -> Client:
    """The real client of a release."""
    return evolve(_CLIENTS[scene.library](release), unseen=_UNSEEN, broker=scene.broker)


def play_model(scene: Scene, release: str) -> Told:
    """What the simulated client of a release does."""
    profile = simulated(f"{scene.library}-{release}")
    return _heard(scene, play_simulated(scene.story, profile, _UNSEEN, version=scene.broker))


def play_real(scene: Scene, release: str) -> Told | None:
    """What the real client of a release does; None where it never began. Raises `kafka_jars.Unavailable`."""
    from tests.twins.live import play_live

    told = play_live(client_of(scene, release), [scene.story]).get(scene.story.name)
    return None if told is None else _heard(scene, told)


def _heard(scene: Scene, told: Told) -> Told:
    """A play as it is compared."""
    requests, application = list(told.requests), list(told.application)
    for words, left in scene.leaves.items():
        requests = [line.replace(words, left) for line in requests]
        application = [line.replace(words, left) for line in application]
    if scene.bursts:
        requests = [line for line in requests if not line.startswith("Heartbeat ")]
    if scene.bursts or scene.repeats:
        requests = [line.replace(" -> waiting", " -> NONE") for line in requests]
        requests = [line for line, _ in groupby(requests)]
    told = evolve(told, requests=tuple(requests), application=tuple(application))
    return facts.timeless(facts.heard(told, _HEARS.get(scene.library, _ALL)))


def fact_of(scene: Scene, release: str) -> facts.Fact:
    """What is kept. Raises FileNotFoundError."""
    return facts.read(folder(scene, release), scene.story)


def asked() -> Mapping[str, tuple[str, ...]]:
    """Defect → the releases of which facts are kept."""
    return {name: tuple(filter(partial(_is_kept, scene), scene.releases)) for name, scene in SCENES.items()}


def _is_kept(scene: Scene, release: str) -> bool:
    return facts.path_of(folder(scene, release), scene.story).exists()


def main(arguments: Sequence[str]) -> int:
    """Do what was asked; 1 when anything differs."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.twins.old_clients",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("defects", nargs="*", metavar="DEFECT")
    parser.add_argument("--record", type=int, metavar="TIMES")
    parser.add_argument("--simulated", action="store_true")
    wanted = parser.parse_args(arguments)
    unknown = [name for name in wanted.defects if name not in SCENES]
    if unknown:
        parser.error(f"there is no scene of {', '.join(unknown)}; choose from {', '.join(SCENES)}")
    worst = 0
    for name in wanted.defects or SCENES:
        for release in SCENES[name].releases:
            worst = max(worst, _one(SCENES[name], release, wanted))
    return worst


def _one(scene: Scene, release: str, wanted: argparse.Namespace) -> int:
    where = f"{scene.story.name} {scene.library} {release}"
    try:
        if wanted.record:
            return _record(scene, release, wanted.record, where)
        return _compare(scene, release, where, TRIES if not wanted.simulated else 1, real=not wanted.simulated)
    except Unavailable as why:
        print(f"{where}: {why}")
        return 0


def _record(scene: Scene, release: str, times: int, where: str) -> int:
    plays = [told for told in (play_real(scene, release) for _ in range(times)) if told is not None]
    if not plays:
        print(f"{where}: it never began")
        return 1
    fact = facts.gathered(plays)
    facts.write(folder(scene, release), scene.story, fact)
    print(f"{where}: {len(plays)} plays, {len(fact.ways)} ways")
    return 0


def _compare(scene: Scene, release: str, where: str, tries: int, *, real: bool) -> int:
    differences = ["nothing"]
    for _ in range(tries):
        told = play_real(scene, release) if real else play_model(scene, release)
        differences = ["+ it never began"] if told is None else fact_of(scene, release).differences(told)
        if not differences:
            break
    print(f"{where}: {'differs' if differences else 'as it was'}")
    print("".join(f"    {line}\n" for line in differences), end="")
    return 1 if differences else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
