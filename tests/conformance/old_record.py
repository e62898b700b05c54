"""Ask real brokers of old releases, which need ZooKeeper, about their defects, and keep what they say.

    python -m tests.conformance.old_record                  every release that `old.FACTS` names
    python -m tests.conformance.old_record 2.3.0 2.3.1      these; the answers of the others stay as they are

Needs Java and Maven: `mvn` resolves the class path of a release from Maven Central. The client of ZooKeeper before 3.5
does not run on Java 17, so that of `kafka_jars.BEFORE` comes first on a broker's class path, and a logger with it;
0.11 needs `javax.xml.bind`, which Java had up to 10.
Exit code 1 when a release does not answer as the scene of a defect states.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

import trio

from tests.conformance.basics import ScriptFailed
from tests.conformance.bodies import Body, decode, encode
from tests.conformance.live import ended_in_order
from tests.conformance.nodes import Handled, Hands, RealNodes
from tests.conformance.old import FACTS, RELEASES, SETTINGS, load, play, save
from tests.conformance.old_scenes import Node
from tests.conformance.peers import Address, Closed, TcpPeer, tcp_peer
from tests.conformance.servers import kafka_broker, kafka_jars
from tests.conformance.transcript import Transcript

_SECONDS = 60
_AT_ONCE = 3
_POM = """
<project><modelVersion>4.0.0</modelVersion><groupId>old</groupId><artifactId>old</artifactId><version>1</version>
<dependencies><dependency>
<groupId>org.apache.kafka</groupId><artifactId>kafka_2.12</artifactId><version>{release}</version>
</dependency><dependency>
<groupId>javax.xml.bind</groupId><artifactId>jaxb-api</artifactId><version>2.3.1</version>
</dependency></dependencies></project>"""
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
    """The jars of a release, as Maven resolves them. Raises CalledProcessError, and FileNotFoundError without Maven."""
    with tempfile.TemporaryDirectory(prefix="groupsim-old-") as folder:
        (Path(folder) / "pom.xml").write_text(_POM.format(release=release).strip(), "utf-8")
        command = ["mvn", "-q", "-B", "dependency:build-classpath", "-Dmdep.outputFile=class-path"]
        subprocess.run(command, cwd=folder, check=True, timeout=5 * _SECONDS)
        return (Path(folder) / "class-path").read_text("utf-8").strip()


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


async def ask(release: str, class_path: str) -> dict[str, Transcript]:
    """What that release answers, by defect. Raises ScriptFailed, in a group."""
    told: dict[str, Transcript] = {}
    facts = {name: fact for name, fact in FACTS.items() if release in (fact.bad, fact.good)}
    for own in {str(fact.own): fact.own for fact in facts.values()}.values():
        with OldBroker(class_path, {**SETTINGS, **own}) as broker:
            for defect in (name for name, fact in facts.items() if fact.own == own):
                told[defect] = await _ask_one(defect, release, broker)
    return told


async def _ask_one(defect: str, release: str, broker: OldBroker) -> Transcript:
    """What it answers in the scene of one defect."""

    async def serves() -> None:
        await _served(broker.address)

    await serves()
    async with tcp_peer([broker.address], OldPeer) as peer:
        return await play(defect, release, peer, Node(Hands(peer, OldNodes(broker)), serves))


async def record(releases: list[str]) -> int:
    """Ask the releases, some at a time; how many did not answer as stated."""
    class_paths = {release: class_path_of(release) for release in releases}
    places = trio.CapacityLimiter(_AT_ONCE)
    plays: dict[str, dict[str, Transcript]] = {}
    failed: list[str] = []

    async def one(release: str) -> None:
        try:
            async with places:
                told = await ask(release, class_paths[release])
            for defect, transcript in told.items():
                plays.setdefault(defect, {})[release] = transcript
                print(f"recorded {defect} of {release}", flush=True)
        except* (ScriptFailed, trio.TooSlowError) as wrong:
            failed.append(release)
            print(*(f"FAILED {release}: {each!r}" for each in wrong.exceptions), sep="\n", flush=True)

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
    asked = parser.parse_args()
    unknown = [release for release in asked.releases if release not in RELEASES]
    if unknown:
        parser.error(f"no fact is asked of {', '.join(unknown)}; choose from {', '.join(RELEASES)}")
    ended_in_order()
    return 1 if trio.run(record, asked.releases or list(RELEASES)) else 0


if __name__ == "__main__":
    sys.exit(main())
