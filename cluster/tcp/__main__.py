"""A small server: a cluster on ports of this machine, until it is told to stop (ctrl-C, SIGTERM)."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

import structlog

from groupsim.cluster.replicated import ReplicatedCluster
from groupsim.cluster.replicated_config import ReplicatedConfig
from groupsim.cluster.tcp.complaints import Complaints
from groupsim.cluster.tcp.listeners import TcpListeners
from groupsim.eventloop.distributions import parse_distribution
from groupsim.eventloop.realtime import RealTimeLoop, origin_of
from groupsim.eventloop.signals import on_signals
from groupsim.protocol.batch import EPOCH_MS


def main(arguments: list[str] | None = None) -> int:
    """Serve; returns the exit code."""
    given = _parser().parse_args(arguments)
    log = structlog.wrap_logger(
        structlog.PrintLogger(sys.stderr),
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
    )
    origin_us = origin_of(EPOCH_MS)
    loop = RealTimeLoop(origin_us if given.seed is None else given.seed, origin_us=origin_us)
    complaints = Complaints(loop, log)
    loop.on_error = lambda error, where: complaints.error("an error in the cluster", error, where=where)

    async def serve(loop: RealTimeLoop) -> None:
        listeners = TcpListeners(
            _cluster(loop, given), host=given.listen, ports=given.port, profile=given.profile, log=log
        )
        await listeners.open()
        _tell(listeners, given.ready_file)
        stop = loop.event()
        on_signals(loop, lambda _: stop.set())
        await stop.wait()
        await listeners.close()

    loop.run(serve)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m groupsim.cluster.tcp", description=__doc__)
    parser.add_argument("--listen", default="127.0.0.1", help="address to listen at")
    parser.add_argument("--port", type=int, default=9092, help="of the first broker, the others follow; 0: any free")
    parser.add_argument("--brokers", type=int, default=3)
    parser.add_argument("--topic", action="append", default=[], metavar="NAME:PARTITIONS")
    parser.add_argument("--profile", default="4.x", help="whose versions are told: 2.8, 3.9, 4.x ...")
    parser.add_argument("--property", action="append", default=[], metavar="KEY=VALUE", help="a broker setting")
    parser.add_argument("--ready-file", type=Path, help="written when all ports listen: addresses as JSON")
    parser.add_argument("--seed", type=int, help="of the ids it makes; another one every time, unless given")
    return parser


def _cluster(loop: RealTimeLoop, given: argparse.Namespace) -> ReplicatedCluster:
    quick = parse_distribution("20us")
    settings = dict(setting.partition("=")[::2] for setting in given.property)
    config = ReplicatedConfig.from_properties(
        settings, brokers=given.brokers, latency=quick, processing=parse_distribution("0us")
    )
    cluster = ReplicatedCluster(loop, config)
    for topic in given.topic:
        name, _, partitions = topic.partition(":")
        cluster.create_topic(name, int(partitions or 1), replication=min(3, given.brokers))
    return cluster


def _tell(listeners: TcpListeners, ready_file: Path | None) -> None:
    """Say where the brokers are; the file appears whole, or not at all."""
    brokers = {str(node): f"{host}:{port}" for node, (host, port) in listeners.addresses.items()}
    ready = {"bootstrap": listeners.bootstrap, "brokers": brokers}
    print(json.dumps(ready), flush=True)
    if ready_file is not None:
        draft = ready_file.with_name(ready_file.name + ".draft")
        draft.write_text(json.dumps(ready), encoding="utf-8")
        os.replace(draft, ready_file)


if __name__ == "__main__":
    sys.exit(main())
