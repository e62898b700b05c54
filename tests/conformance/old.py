"""Defects of old brokers, asked of real ones: a scene for each, played on a release with it and on one with its fix.

A scene states what each of the two releases answers. `old_record.py` asks them, the answers are kept in
`data/old/defects.json`, and `test_old.py` compares the core of the same release with them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from attrs import field, frozen

from groupsim.coordinator.base.versions import parse_version
from groupsim.eventloop.virtual import VirtualLoop, run_virtual
from tests.conformance import old_scenes as scenes
from tests.conformance.cases import Case
from tests.conformance.core import CorePeer
from tests.conformance.data import FOLDER
from tests.conformance.live import RELEASE
from tests.conformance.nodes import CoreNodes, Hands
from tests.conformance.old_consumer import EARLIER, SCENES
from tests.conformance.peers import Peer
from tests.conformance.script import Script
from tests.conformance.transcript import Transcript, transcript_of

DATA = FOLDER / "old" / "defects.json"
SETTINGS: dict[str, object] = {
    "group.initial.rebalance.delay.ms": 500,
    "group.min.session.timeout.ms": 100,
    "group.max.session.timeout.ms": 600_000,
    "group.max.size": 2,
    "offsets.topic.num.partitions": 4,
}
"""What every release is started with; one that does not know a setting ignores it."""
OLDEST_PROFILE = "2.0"
"""The oldest release that the codec has the requests of; it takes all that is asked here of older ones."""
RETENTION: dict[str, object] = {"offsets.retention.minutes": 1, "offsets.retention.check.interval.ms": 100}
_SMALL_READS: dict[str, object] = {"offsets.load.buffer.size": 16}
"""So that a load of the core takes time; a real broker before 2.0.1 never ends one whose records are larger."""


@frozen
class Fact:
    """A scene, the last release that has the defect or the old words, and the first that has not."""

    scene: scenes.Scene
    bad: str
    good: str
    own: Mapping[str, object] = field(factory=dict)
    """What its releases are started with besides `SETTINGS`."""
    earlier: tuple[str, ...] = ()
    """Releases before `bad` that answer as it does, and are asked, too."""

    @property
    def releases(self) -> tuple[str, ...]:
        """The releases that are asked, the one after the change last."""
        return (*self.earlier, self.bad, self.good)


FACTS = {
    "KAFKA-4682": Fact(scenes.quiet_topic_of_a_live_group, "2.0.1", "2.1.0", RETENTION),
    "KAFKA-6005": Fact(scenes.first_member_without_a_protocol, "0.11.0.3", "1.0.0"),
    "KAFKA-7610": Fact(scenes.dead_newcomer_in_an_open_round, "2.1.0", "2.1.1"),
    "KAFKA-8653": Fact(scenes.second_member_of_version_0, "2.3.0", "2.3.1"),
    "KAFKA-8715": Fact(scenes.two_restarts_in_a_stable_group, "2.3.0", "2.3.1"),
    "KAFKA-9752": Fact(scenes.death_before_the_first_sync, "2.4.1", "2.5.0"),
    "KAFKA-9885": Fact(scenes.three_ids_in_a_group_of_two, "2.5.1", "2.6.0"),
    "KAFKA-10284": Fact(scenes.restart_of_member_and_broker, "2.6.0", "2.6.1"),
    "KAFKA-10401": Fact(scenes.restart_with_an_empty_group, "2.6.0", "2.6.1", RETENTION),
    "KAFKA-12890": Fact(scenes.leader_without_an_assignment, "2.8.0", "2.8.1"),
    "KAFKA-13636": Fact(scenes.look_in_the_first_round, "2.8.1", "2.8.2", RETENTION),
    "KAFKA-14009": Fact(scenes.shorter_session_on_the_second_join, "3.3.1", "3.3.2"),
    "KAFKA-16371": Fact(scenes.refused_beside_a_good_one, "3.7.0", "3.7.1"),
    "kafka-8662a022": Fact(scenes.everything_during_a_load, "1.1.1", "2.0.0"),
    "generation-of-a-refused-join": Fact(scenes.joins_that_are_refused, "2.1.1", "2.2.0"),
    "message-of-a-found-coordinator": Fact(scenes.coordinator_that_is_found, "2.2.0", "2.3.0"),
    "operations-that-were-not-asked": Fact(scenes.operations_that_were_not_asked, "2.4.1", "2.5.0"),
    **{name: Fact(*scene, EARLIER.get(name, ())) for name, scene in SCENES.items()},
}
"""By the name of the defect (`coordinator.defects`), or of what older releases say in other words."""
RELEASES = tuple(dict.fromkeys(release for fact in FACTS.values() for release in fact.releases))


async def play(defect: str, release: str, peer: Peer, node: scenes.Node) -> Transcript:
    """What a peer of that release answers. Raises ScriptFailed where it is not what the scene states."""
    fact = FACTS[defect]
    table = "consumer_old" if defect in SCENES else "old"  # then the records of the log are taken apart
    case = Case(
        table, defect, None, lambda script: fact.scene(script, release != fact.good, node), (), of_release=release
    )
    script = Script(case, peer, "")
    await case.play(script)
    return transcript_of(script)


def play_on_core(
    defect: str, release: str, recorded: Transcript | None = None, version: str | None = None
) -> Transcript:
    """The same of the core of that release, or of another `version`, in virtual time. Raises ScriptFailed."""

    async def main(loop: VirtualLoop) -> Transcript:
        settings = {**SETTINGS, **_SMALL_READS, **FACTS[defect].own, RELEASE: version or release}
        profile = max(version or release, OLDEST_PROFILE, key=parse_version)
        peer = CorePeer(loop, recorded, settings, profile=profile)
        nodes = CoreNodes(loop, peer.cluster, peer.config_of, settings)

        async def serves() -> None:
            await peer.sleep(1_000_000)

        return await play(defect, release, peer, scenes.Node(Hands(peer, nodes), serves))

    return run_virtual(main)


def load() -> dict[str, dict[str, Transcript]]:
    """What was recorded: defect → release → transcript."""
    plays = json.loads(DATA.read_text("utf-8"))["plays"] if DATA.exists() else {}
    return {
        defect: {release: Transcript(one["lines"], one["ids"]) for release, one in releases.items()}
        for defect, releases in plays.items()
    }


def save(plays: dict[str, dict[str, Transcript]]) -> None:
    """Write what was recorded."""
    lines = []
    for defect in (name for name in FACTS if name in plays):
        of = {name: {"ids": one.ids, "lines": one.lines} for name, one in sorted(plays[defect].items())}
        lines.append(f"{json.dumps(defect)}: {json.dumps(of, separators=(',', ':'))}")
    DATA.parent.mkdir(exist_ok=True)
    head = f'"settings": {json.dumps(SETTINGS)},\n"own": {json.dumps(own_settings())},\n'
    DATA.write_text("{\n" + head + '"plays": {\n' + ",\n".join(lines) + "\n}\n}\n", "utf-8")


def own_settings() -> dict[str, Mapping[str, object]]:
    """What the releases of a fact are started with besides `SETTINGS`, where there is anything."""
    return {name: fact.own for name, fact in FACTS.items() if fact.own}
