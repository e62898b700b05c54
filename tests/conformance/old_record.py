"""Ask real brokers of old releases about their defects and differences, and keep what they say.

    python -m tests.conformance.old_record                  every release that `old.FACTS` names
    python -m tests.conformance.old_record 2.3.0 2.3.1      these; the answers of the others stay as they are
    python -m tests.conformance.old_record --only KIP-1251  every release of that scene; the other scenes stay, too

Needs Java and Maven: `mvn` resolves the class path of a release from Maven Central. Before 4.0 a broker needs
ZooKeeper. The client of ZooKeeper before 3.5
does not run on Java 17, so that of `kafka_jars.BEFORE` comes first on a broker's class path, and a logger with it;
0.11 needs `javax.xml.bind`, which Java had up to 10.
Exit code 1 when a release does not answer as the scene of a defect states.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import trio
from attrs import frozen

from groupsim.coordinator.base.versions import parse_version
from tests.conformance.basics import ScriptFailed
from tests.conformance.bodies import Body, decode, encode
from tests.conformance.live import broker_of, ended_in_order
from tests.conformance.nodes import Handled, Hands, RealNodes
from tests.conformance.old import FACTS, RELEASES, SETTINGS, Fact, load, play, save
from tests.conformance.old_scenes import Node
from tests.conformance.peers import Address, Closed, TcpPeer, tcp_peer
from tests.conformance.servers import kafka_broker, kafka_jars, kafka_releases
from tests.conformance.transcript import Transcript

_SECONDS = 60
_AT_ONCE = 3
_WITHOUT_ZOOKEEPER = (4,)
_LOGGER = ("ch.qos.reload4j:reload4j:", "org.slf4j:")
_CLIENT = ("org.apache.zookeeper:",)
_JVM = ("-Xmx320m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_ZOOKEEPER = ("-Dzookeeper.admin.enableServer=false", "-Dzookeeper.jmx.log4j.disable=true")
_LOG4J = """
log4j.rootLogger=INFO,out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=[%d] %p %m (%c)%n
"""


def class_path_of(release: str) -> str:
    """The jars of a release with ZooKeeper, as Maven resolves them. Raises Unavailable."""
    return kafka_releases.resolved([f"org.apache.kafka:kafka_2.12:{release}", "javax.xml.bind:jaxb-api:2.3.1"])


class OldBroker:
    """One broker and its ZooKeeper, of the release with that class path, while the context lasts."""

    def __init__(self, class_path: str, settings: Mapping[str, object]) -> None:
        self._class_path = class_path
        self._settings = settings
        self._ending = ExitStack()
        self._broker: subprocess.Popen[bytes] | None = None
        zookeeper, port = kafka_broker.free_ports(2)
        self._zookeeper = zookeeper
        self.address = (kafka_broker.HOST, port)

    def __enter__(self) -> OldBroker:
        self._folder = Path(self._ending.enter_context(tempfile.TemporaryDirectory(prefix="groupsim-old-")))
        (self._folder / "log4j.properties").write_text(_LOG4J, "utf-8")
        own = {
            "broker.id": 0,
            "zookeeper.connect": f"{kafka_broker.HOST}:{self._zookeeper}",
            "listeners": f"PLAINTEXT://{kafka_broker.HOST}:{self.address[1]}",
            "log.dirs": self._folder / "data",
            "offsets.topic.replication.factor": 1,
            "log.cleaner.dedupe.buffer.size": 2_097_152,
            **self._settings,
        }
        lines = [f"{name}={value}\n" for name, value in own.items()]
        (self._folder / "server.properties").write_text("".join(lines), "utf-8")
        try:
            main, data = "org.apache.zookeeper.server.ZooKeeperServerMain", str(self._folder / "znodes")
            self._run("zookeeper", _LOGGER, main, str(self._zookeeper), data)
            self.start()
        except BaseException:
            self._ending.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.close()

    def start(self) -> None:
        """Start the broker on its data."""
        settings = str(self._folder / "server.properties")
        self._broker = self._run("broker", (*_CLIENT, *_LOGGER), "kafka.Kafka", settings)

    def stop(self) -> None:
        """Shut the broker down."""
        assert self._broker is not None
        self._broker.terminate()
        self._broker.wait(_SECONDS)

    def _run(self, name: str, first: tuple[str, ...], *arguments: str) -> subprocess.Popen[bytes]:
        ahead = kafka_jars.class_path([one for one in kafka_jars.BROKER_BEFORE if one.startswith(first)])
        log = f"-Dlog4j.configuration=file:{self._folder / 'log4j.properties'}"
        command = [kafka_jars.java(), *_JVM, *_ZOOKEEPER, log, "-cp", f"{ahead}:{self._class_path}", *arguments]
        with (self._folder / name).open("ab") as out:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        self._ending.callback(process.wait)
        self._ending.callback(process.kill)
        return process


class OldNodes(RealNodes):
    """The one node of an old release: it can be stopped and started again."""

    def __init__(self, broker: OldBroker) -> None:
        self._broker = broker
        self.handled = Handled({0})

    async def stop(self, node: int) -> None:
        await trio.to_thread.run_sync(self._broker.stop)

    async def start(self, node: int) -> None:
        """Start it; returns when it takes connections. Raises TooSlowError after a minute."""
        self._broker.start()
        with trio.fail_after(_SECONDS):
            while True:
                try:
                    await (await trio.open_tcp_stream(*self._broker.address)).aclose()
                    return
                except OSError:
                    await trio.sleep(0.02)

    async def restart(self, own: Mapping[str, object]) -> None:
        await self.stop(0)
        await self.start(0)


class OldPeer(TcpPeer):
    """Talks to brokers of 0.11 and later."""

    metadata, create_topics, list_offsets = 4, 2, 1
    replicas = 1


async def _served(address: Address) -> None:
    """Return when the broker answers for groups. Raises TooSlowError after a minute."""
    groups: Body = {"groups": [f"ready-{number}" for number in range(40)]}
    with trio.fail_after(_SECONDS):
        while True:
            try:
                async with tcp_peer([address]) as peer:
                    line = await peer.connect("ready")
                    await line.send(encode("FindCoordinator", 1, 1, "ready", {"key": "ready", "key_type": 0}))
                    await line.receive(10_000_000)
                    await line.send(encode("DescribeGroups", 1, 2, "ready", groups))
                    got = await line.receive(10_000_000)
                    told = decode("DescribeGroups", 1, got[0])[1]["groups"] if got else []
                    if told and all(one["error_code"] == "NONE" for one in told):
                        return
            except* (OSError, Closed):
                pass
            await trio.sleep(0.2)


async def ask(release: str, scenes: Mapping[str, Fact]) -> tuple[dict[str, Transcript], list[str]]:
    """What that release answers, by defect, and what it does not answer as stated. Raises TooSlowError, in a group."""
    told: dict[str, Transcript] = {}
    wrong: list[str] = []
    facts = {name: fact for name, fact in scenes.items() if release in fact.releases}
    for own in {str(fact.own): fact.own for fact in facts.values()}.values():
        with started(release, {**SETTINGS, **own}) as broker:
            for defect in (name for name, fact in facts.items() if fact.own == own):
                try:
                    told[defect] = await _ask_one(defect, release, broker)
                except* ScriptFailed as failed:
                    wrong += [f"{defect}: {one!r}" for one in failed.exceptions]
    return told, wrong


@frozen
class Started:
    """A broker that runs: where it listens, how it is handled, and what talks to it."""

    address: Address
    nodes: OldNodes | RealNodes
    peer: type[TcpPeer]


@contextmanager
def started(release: str, settings: Mapping[str, object]) -> Iterator[Started]:
    """One broker of that release, since 4.0 without a ZooKeeper. Raises Unavailable, BrokerError."""
    if parse_version(release) < _WITHOUT_ZOOKEEPER:
        with OldBroker(class_path_of(release), settings) as old:
            yield Started(old.address, OldNodes(old), OldPeer)
    else:
        with broker_of(None if release == kafka_jars.VERSION else release, settings) as kafka:
            yield Started(kafka.addresses[0], RealNodes(kafka), TcpPeer)


async def _ask_one(defect: str, release: str, broker: Started) -> Transcript:
    """What it answers in the scene of one defect."""

    async def serves() -> None:
        await _served(broker.address)

    await serves()
    async with tcp_peer([broker.address], broker.peer) as peer:
        return await play(defect, release, peer, Node(Hands(peer, broker.nodes), serves))


async def record(releases: list[str], scenes: Mapping[str, Fact]) -> int:
    """Ask the releases, some at a time; how many did not answer as stated."""
    places = trio.CapacityLimiter(_AT_ONCE)
    plays: dict[str, dict[str, Transcript]] = {}
    failed: list[str] = []

    async def one(release: str) -> None:
        try:
            async with places:
                told, wrong = await ask(release, scenes)
            for defect, transcript in told.items():
                plays.setdefault(defect, {})[release] = transcript
                print(f"recorded {defect} of {release}", flush=True)
        except* trio.TooSlowError as slow:
            wrong = [repr(each) for each in slow.exceptions]
        failed.extend(wrong)
        print(*(f"FAILED {release}: {each}" for each in wrong), sep="\n", flush=True)

    async with trio.open_nursery() as nursery:
        for release in releases:
            nursery.start_soon(one, release)
    kept = load()
    save({defect: kept.get(defect, {}) | plays.get(defect, {}) for defect in FACTS if defect in {**kept, **plays}})
    return len(failed)


def main() -> int:
    """Record; 0 when every release answered as stated."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.old_record")
    parser.add_argument(
        "releases", nargs="*", metavar="RELEASE", help=f"of {', '.join(RELEASES)}; all when none is given"
    )
    parser.add_argument("--only", choices=FACTS, action="append", metavar="SCENE", help="this scene, not all")
    asked = parser.parse_args()
    scenes = {name: FACTS[name] for name in asked.only or FACTS}
    chosen = asked.releases or [one for one in RELEASES if any(one in fact.releases for fact in scenes.values())]
    unknown = [release for release in asked.releases if release not in RELEASES]
    if unknown:
        parser.error(f"no fact is asked of {', '.join(unknown)}; choose from {', '.join(RELEASES)}")
    ended_in_order()
    return 1 if trio.run(record, chosen, scenes) else 0


if __name__ == "__main__":
    sys.exit(main())
