"""A fuzzer in front of a served broker: `python -m benchmarks.hostile [--frames 1000000] [--seed 1]`.

The broker runs in a process of its own and counts the frames that it took. They are made from Kafka's schemas (any API
and version it tells, fields from edges and from a few names that exist), and some are mutated: bits flipped, cut short,
bytes put in or repeated, pure noise, lengths that lie. Meanwhile a witness, the member of a group on another
connection, sends heartbeats, one after the other: each has to be answered without an error.

Printed: frames taken and refused, connections, the witness's heartbeats and the slowest of them, the broker's memory
at the beginning and at the end, and the errors of its own that the broker logged, with how often. The exit code is 1
when the witness was not served, or the broker did not live.
"""

from __future__ import annotations

import argparse
import faulthandler
import multiprocessing
import os
import random
import select
import signal
import socket
import struct
import sys
import threading
import time
from collections import Counter
from functools import cache
from multiprocessing.sharedctypes import Synchronized
from typing import Any

from attrs import define, field

from groupsim.cluster.cluster import Cluster
from groupsim.cluster.config.cluster import ClusterConfig
from groupsim.cluster.tcp import TcpListeners
from groupsim.coordinator.base.placement import partition_for
from groupsim.eventloop.distributions import parse_distribution
from groupsim.eventloop.realtime import RealTimeLoop
from groupsim.eventloop.signals import on_signals
from groupsim.protocol.basics import Api
from groupsim.protocol.wire import Codec, Lengthy, Understood, Unreadable, api_table, served
from groupsim.protocol.wire.schema import REQUIRED, Field, Shape, request_shape
from groupsim.protocol.wire.serial import writer

PROFILE = "4.x"
AT_ONCE = 32  # connections
BURST = 10  # frames on each
PATIENCE_S = 0.02  # for a connection that is silent while later ones are answered: something of it is parked
MOST_PATIENCE_S = 1.0  # for any
POLL_MS = 2
WITNESS_S = 20.0

NAMES = [
    "",
    "orders",
    "g",
    "h",
    "consumer",
    "range",
    "cooperative-sticky",
    "raw",
    "x" * 300,
    "é",
    "a b",
    "..",
    "1",
    "t",
]
NUMBERS = [0, 0, 0, 1, 1, 2, 3, -1, -1, 5, 100, 1_000, 30_000]
EDGES = {"int8": 7, "int16": 15, "int32": 31, "int64": 63}


# --- the broker's process ----------------------------------------------------------------------------------------


class Errors:
    """The broker's log: lines about connections are counted, errors of its own are kept by what they are."""

    def __init__(self) -> None:
        self.lines: Counter[str] = Counter()
        self.errors: Counter[str] = Counter()

    def info(self, event: str, **values: Any) -> None:
        self.lines[event] += 1

    warning = info

    def error(self, event: str, *, exc_info: BaseException, **values: Any) -> None:
        trace, place = exc_info.__traceback__, ""
        while trace is not None:
            place = f"{os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}"
            trace = trace.tb_next
        self.errors[f"{event}: {type(exc_info).__name__}: {str(exc_info)[:120]} at {place}"] += 1


def serve(port: Any, taken: Synchronized[int], refused: Synchronized[int], report: Any) -> None:
    """Serve one broker until SIGTERM; the counts are shared, the errors are sent at the end."""
    faulthandler.register(signal.SIGUSR1)  # kill -USR1 tells where it is, when it seems to hang
    understand = Codec.understand

    def counted(self: Codec, frame: bytes, *most: int) -> Understood:
        taken.value += 1
        try:
            return understand(self, frame, *most)
        except Lengthy:  # it will be read again
            taken.value -= 1
            raise
        except Unreadable:
            refused.value += 1
            raise

    Codec.understand = counted  # type: ignore[method-assign]
    log = Errors()
    loop = RealTimeLoop()
    loop.on_error = lambda error, where: log.error(where, exc_info=error)
    quick = {"latency": parse_distribution("20us"), "processing": parse_distribution("0us")}

    async def main(loop: RealTimeLoop) -> None:
        properties = {"group.initial.rebalance.delay.ms": 0, "group.min.session.timeout.ms": 1}
        cluster = Cluster(loop, ClusterConfig.from_properties(properties, brokers=1, **quick))
        cluster.create_topic("orders", 4, replication=1)
        listeners = TcpListeners(cluster, profile=PROFILE, log=log)
        await listeners.open()
        stop = loop.event()
        on_signals(loop, lambda _: stop.set())
        port.send(listeners.addresses[0][1])
        await stop.wait()
        await listeners.close(1_000_000)

    loop.run(main)
    report.send((dict(log.lines), dict(log.errors)))


# --- frames ------------------------------------------------------------------------------------------------------


class Maker:
    """Makes frames from a seed."""

    def __init__(self, seed: int) -> None:
        self.luck = random.Random(seed)
        table = api_table(PROFILE)
        self.kinds = [
            (api, version)
            for api, known in served().items()
            if api in table
            for version in range(max(known.oldest, table[api].oldest), min(known.newest, table[api].newest) + 1)
        ]

    def frame(self) -> bytes:
        """One frame with its length: a request, mutated or not."""
        luck = self.luck
        if luck.random() < 0.01:
            return self._noise()
        data = self.request(*luck.choice(self.kinds))
        if luck.random() < 0.1:
            data = self._mutated(data)
        size = len(data) if luck.random() > 0.005 else luck.choice([0, 1, len(data) + 7, -1, 2**31 - 1, 104_857_601])
        return struct.pack(">i", size) + data

    def _noise(self) -> bytes:
        data = self.luck.randbytes(self.luck.randrange(64))
        return struct.pack(">i", len(data)) + data if self.luck.random() < 0.8 else data

    def _mutated(self, data: bytes) -> bytes:
        luck, changed = self.luck, bytearray(data)
        at = luck.randrange(len(changed))
        way = luck.randrange(5)
        if way == 0:
            changed[at] ^= 1 << luck.randrange(8)
        elif way == 1:
            del changed[at:]
        elif way == 2:
            changed[at:at] = luck.randbytes(luck.randrange(1, 9))
        elif way == 3:
            changed[at : at + 4] = struct.pack(">i", luck.choice([-1, 0, 2**31 - 1, -(2**31), 65_536]))
        else:
            changed += changed[at:]
        return bytes(changed)

    def request(self, api: Api, version: int) -> bytes:
        """A request of this kind whose fields are anything their types allow."""
        shape = request_shape(api, version)
        out = bytearray(struct.pack(">hhi", api, version, self.luck.randrange(1 << 31)))
        out += struct.pack(">h", 4) + b"fuzz"
        if shape.flexible:
            out.append(0)
        writer(shape)(out, self._fields(shape, 0))
        return bytes(out)

    def _fields(self, shape: Shape, depth: int) -> dict[str, Any]:
        return {part.name: self._value(part, depth) for part in shape.fields}

    def _value(self, part: Field, depth: int) -> Any:
        luck = self.luck
        if part.nullable and luck.random() < 0.15:
            return None
        if part.default is not REQUIRED and luck.random() < 0.5:
            return part.default
        if part.array:
            return tuple(self._one(part, depth + 1) for _ in range(luck.randrange(4 if depth < 2 else 2)))
        return self._one(part, depth)

    def _one(self, part: Field, depth: int) -> Any:
        luck, kind = self.luck, part.kind
        if part.parts is not None:
            return self._fields(part.parts, depth)
        if kind == "string":
            return luck.choice(NAMES)
        if kind == "bool":
            return luck.random() < 0.5
        if kind in ("bytes", "records"):
            return luck.randbytes(luck.randrange(80))
        if kind == "uuid":
            return None if luck.random() < 0.3 else "AAAAAAAAAAAAAAAAAAAAAQ"
        if kind == "float64":
            return luck.choice([0.0, -1.5, 1e308])
        if kind in ("uint16", "uint32"):
            return luck.choice([0, 1, 65_535])
        known, edges = _numbers(kind)
        return luck.choice(known if luck.random() < 0.9 else edges)


@cache
def _numbers(kind: str) -> tuple[list[int], list[int]]:
    """The numbers that are taken for a kind of field: known ones, and the edges of what it can hold."""
    bits = next((size for name, size in EDGES.items() if kind.startswith(name)), 15)
    return [number for number in NUMBERS if -(1 << bits) <= number < 1 << bits], [(1 << bits) - 1, -(1 << bits)]


# --- the witness ---------------------------------------------------------------------------------------------------


@define
class Witness:
    """The member of a group whose heartbeats tell whether others are served."""

    port: int
    beats: int = 0
    slowest_s: float = 0.0
    trouble: str = ""
    stop: threading.Event = field(factory=threading.Event)

    def run(self) -> None:
        """Join, and beat until told to stop."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=WITNESS_S) as sock:
                self._beat(sock)
        except Exception as error:
            self.trouble = f"after {self.beats} heartbeats: {error!r}"

    def _beat(self, sock: socket.socket) -> None:
        group = _of_its_own()
        generation, member = _join(sock, group)
        frame = _framed(12, 1, _text(group) + struct.pack(">i", generation) + _text(member))
        while not self.stop.is_set():
            begun = time.perf_counter()
            answer = _ask(sock, frame)
            self.slowest_s = max(self.slowest_s, time.perf_counter() - begun)
            if answer[8:10] != b"\0\0":
                self.trouble = f"heartbeat {self.beats} was answered {struct.unpack('>h', answer[8:10])[0]}"
                return
            self.beats += 1
            time.sleep(0.002)


def _of_its_own() -> str:
    """A group whose partition of `__consumer_offsets` no group of the frames shares.

    What is answered while an append to the same partition is under way shares that append's fate, heartbeats too.
    """
    theirs = {partition_for(name, 50) for name in NAMES}
    return next(name for name in map("witness-{}".format, range(1_000)) if partition_for(name, 50) not in theirs)


def _text(value: str) -> bytes:
    return struct.pack(">h", len(value)) + value.encode()


def _framed(api: int, version: int, body: bytes) -> bytes:
    data = struct.pack(">hhi", api, version, 1) + _text("witness") + body
    return struct.pack(">i", len(data)) + data


def _ask(sock: socket.socket, frame: bytes) -> bytes:
    """The response, from its correlation id on."""
    sock.sendall(frame)
    data = b""
    while len(data) < 4 or len(data) < 4 + struct.unpack(">i", data[:4])[0]:
        piece = sock.recv(65_536)
        if not piece:
            raise ConnectionError("closed by the broker")
        data += piece
    return data[4:]


def _join(sock: socket.socket, group: str) -> tuple[int, str]:
    """Join a group and lead it alone; generation and member id."""
    protocols = struct.pack(">i", 1) + _text("range") + struct.pack(">i", 0)
    body = _text(group) + struct.pack(">ii", 60_000, 60_000) + _text("") + _text("consumer") + protocols
    answer = _ask(sock, _framed(11, 2, body))
    error, generation = struct.unpack(">hi", answer[8:14])
    if error:
        raise ConnectionError(f"JoinGroup: error {error}")
    at, value = 14, ""
    for _ in range(3):
        length = struct.unpack(">h", answer[at : at + 2])[0]
        value = answer[at + 2 : at + 2 + length].decode()
        at += 2 + length
    body = _text(group) + struct.pack(">i", generation) + _text(value) + struct.pack(">i", 1) + _text(value)
    _ask(sock, _framed(14, 1, body + struct.pack(">i", 0)))
    return generation, value


# --- the attack ----------------------------------------------------------------------------------------------------


@define
class Outcome:
    """What came of it."""

    taken: int
    refused: int
    connections: int
    beats: int
    slowest_s: float
    trouble: str
    memory_mb: tuple[float, float]
    lived: bool
    lines: dict[str, int]
    errors: dict[str, int]
    seconds: float

    @property
    def held(self) -> bool:
        """Whether the broker lived and the witness was served all along."""
        return self.lived and not self.trouble


def attack(frames: int, seed: int = 1) -> Outcome:
    """Send frames until the broker has taken so many."""
    context = multiprocessing.get_context("spawn")
    taken, refused = context.Value("q", 0), context.Value("q", 0)
    (port_end, port_start), (report_end, report_start) = context.Pipe(False), context.Pipe(False)
    process = context.Process(target=serve, args=(port_start, taken, refused, report_start), daemon=True)
    process.start()
    begun = time.monotonic()
    try:
        port = port_end.recv()
        witness = Witness(port)
        thread = threading.Thread(target=witness.run, daemon=True)
        thread.start()
        before = _memory_mb(process.pid)
        swarm = Swarm(port, Maker(seed))
        while taken.value < frames and process.is_alive() and not witness.trouble:
            swarm.turn()
        swarm.close()
        after = _memory_mb(process.pid)
        lived = process.is_alive()
        witness.stop.set()
        thread.join(WITNESS_S)
        os.kill(process.pid, signal.SIGTERM)
        lines, errors = report_end.recv() if lived and report_end.poll(60) else ({}, {"no report": 1})
        process.join(30)
    finally:
        process.kill()
    return Outcome(
        taken.value,
        refused.value,
        swarm.connections,
        witness.beats,
        witness.slowest_s,
        witness.trouble,
        (before, after),
        lived and process.exitcode == 0,
        lines,
        errors,
        time.monotonic() - begun,
    )


class Swarm:
    """Connections that each send a burst, are read until they have their answers, and give way to the next one.

    One is given up when it has been silent for a while (a frame of it is parked, and with it those behind it), so that
    the broker always has something to do.
    """

    def __init__(self, port: int, maker: Maker) -> None:
        self._port = port
        self._maker = maker
        self._poll = select.poll()
        self._open: dict[int, Burst] = {}
        self._answered = 0  # the newest connection that has had an answer
        self.connections = 0

    def turn(self) -> None:
        """Read what there is, close what is done with or waits in vain, and send the next bursts."""
        for number, _ in self._poll.poll(POLL_MS):
            burst = self._open[number]
            self._answered = max(self._answered, burst.serial)
            if not burst.read():
                self._close(number)
        now = time.monotonic()
        for number, burst in list(self._open.items()):
            patience = PATIENCE_S if burst.serial < self._answered else MOST_PATIENCE_S
            if now - burst.moved_s > patience:
                self._close(number)
        while len(self._open) < AT_ONCE:
            self._send()

    def _send(self) -> None:
        sock = socket.create_connection(("127.0.0.1", self._port), timeout=30)
        self.connections += 1
        self._open[sock.fileno()] = Burst(sock, self.connections)
        self._poll.register(sock, select.POLLIN)
        try:
            sock.sendall(b"".join(self._maker.frame() for _ in range(BURST)))
        except OSError:  # closed for what it had sent first
            pass

    def _close(self, number: int) -> None:
        self._poll.unregister(number)
        self._open.pop(number).sock.close()

    def close(self) -> None:
        """Close what is open."""
        for number in list(self._open):
            self._close(number)


@define
class Burst:
    """One connection's frames and how many answers have come; what the answers say is thrown away."""

    sock: socket.socket
    serial: int
    moved_s: float = field(factory=time.monotonic)
    answers: int = 0
    skip: int = 0  # bytes of an answer that are still to come
    size: bytes = b""  # of the next answer, as far as it is there

    def read(self) -> bool:
        """Read what there is; False when no more is to be expected."""
        self.moved_s = time.monotonic()
        try:
            data = self.sock.recv(262_144)
        except OSError:
            return False
        at, end = self.skip, len(data)
        if self.size and at < end:
            data, end = self.size + data, end + len(self.size)
            self.size = b""
        while at + 4 <= end:
            at += 4 + int.from_bytes(data[at : at + 4], "big")
            self.answers += 1
        if at <= end:
            self.size, self.skip = data[at:], 0
        else:
            self.skip = at - end
        return end > 0 and self.answers < BURST


def _memory_mb(pid: int | None) -> float:
    """Resident memory of a process."""
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    except OSError:
        return 0.0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hostile", description="Fuzz a served broker.")
    parser.add_argument("--frames", type=int, default=1_000_000, help="so many frames the broker has to take")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    outcome = attack(options.frames, options.seed)
    print(
        f"{outcome.taken:,} frames taken, {outcome.refused:,} of them refused, on {outcome.connections:,} connections"
    )
    print(f"in {outcome.seconds:.0f} s; log: {outcome.lines}")
    slowest_ms = outcome.slowest_s * 1e3
    print(f"witness: {outcome.beats:,} heartbeats, the slowest {slowest_ms:.0f} ms; {outcome.trouble or 'served'}")
    print(f"memory: {outcome.memory_mb[0]:.0f} MB before, {outcome.memory_mb[1]:.0f} MB after")
    for error, often in sorted(outcome.errors.items(), key=lambda pair: -pair[1]):
        print(f"error of the broker's own, {often} times: {error}")
    return 0 if outcome.held else 1


if __name__ == "__main__":
    sys.exit(main())
