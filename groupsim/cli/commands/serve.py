"""`groupsim serve`: a cluster on ports of this machine, for real clients, until ctrl-C."""

from __future__ import annotations

import os
import shlex
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from attrs import evolve

from groupsim.cli.exits import INTERRUPTED, SUCCESS, Trouble
from groupsim.cli.sources import check_target
from groupsim.eventloop.realtime import RealTimeLoop, origin_of
from groupsim.eventloop.trace.sinks import sink_for
from groupsim.eventloop.trace.trace import Trace
from groupsim.protocol.batch.batch import EPOCH_MS
from groupsim.protocol.values import frozen
from groupsim.scenarios.language.model import Scenario
from groupsim.scenarios.language.printable import visible

MOST_BROKERS = 100


@frozen
class ServeOptions:
    """The options of the command line."""

    source: str | None
    port: int
    control_port: int
    brokers: int | None
    listen: str
    advertised_host: str | None
    api_profile: str
    data_dir: Path | None
    ready_file: Path | None
    seed: int | None
    trace: Path | None
    topics: Sequence[str]
    broker: Sequence[str]
    settings: Sequence[str]
    members: bool
    token: str | None
    log_json: bool


def serve(options: ServeOptions) -> int:
    """Serve until a signal stops the cluster; return the exit code."""
    _need_extra()
    from groupsim.serving.log import server_log
    from groupsim.serving.server import CannotServe, Server

    check_target(options.trace)
    origin = origin_of(EPOCH_MS)
    wanted = _wanted(options, origin)
    seed = options.seed if options.seed is not None else int.from_bytes(os.urandom(6), "big")  # new ids at every start
    loop = RealTimeLoop(seed, Trace(), origin_us=origin)
    log = server_log(sys.stderr, lambda: loop.now_us, as_json=options.log_json)
    loop.on_error = lambda error, where: log.error("an error in the cluster", exc_info=error, where=where)
    with ExitStack() as closing:
        sinks = [closing.enter_context(sink_for(options.trace))] if options.trace is not None else []
        server = Server(loop, wanted, log, sinks)
        failed: list[Exception] = []

        async def main(loop: RealTimeLoop) -> None:
            _heed_signals(loop, server, log)
            try:
                await server.run(lambda about: _banner(about, options, wanted.token, wanted.scenario))
            except Exception as error:
                failed.append(error)  # the loop would log the error and continue

        try:
            loop.run(main)
        except KeyboardInterrupt:
            return INTERRUPTED
        for error in failed:
            raise Trouble(error.message, error.remedy) if isinstance(error, CannotServe) else error
    log.info("stopped")
    return SUCCESS


def _spare_hypothesis() -> None:
    """Keep kio from importing hypothesis, if it is installed, for strategies of its types.

    The import takes as long as that of the whole cluster, and this process has no property tests.
    """
    sys.modules.setdefault("hypothesis", None)  # type: ignore[arg-type]  # documented: the import fails then


def _need_extra() -> None:
    _spare_hypothesis()
    try:
        import crc32c  # noqa: F401
        import hypercorn  # noqa: F401
        import kio  # noqa: F401
        import re2  # noqa: F401
        import starlette  # noqa: F401
    except ImportError as error:
        remedy = 'pip install "groupsim[serve]"'
        raise Trouble(f"serving needs {error.name}, which is not installed", remedy) from None


def _wanted(options: ServeOptions, origin: int) -> Any:
    """Build the configuration of the server. Raises Trouble or ScenarioError."""
    from groupsim.protocol.wire.apis import api_table
    from groupsim.serving.guard import is_loopback, is_wildcard
    from groupsim.serving.server import Serving

    _check_numbers(options)
    if options.advertised_host is None and is_wildcard(options.listen):
        message = f"--listen {options.listen or repr('')} is not an address to which clients can connect"
        remedy = "add --advertised-host with the name or address by which they reach this machine, such as localhost"
        raise Trouble(message, remedy)
    scenario = _scenario(options, origin)
    try:
        api_table(options.api_profile)
    except ValueError as error:
        raise Trouble(f"--api-profile: {error}") from None
    token = options.token or None  # an empty token protects nothing
    if token is None and not is_loopback(options.listen):
        token = os.urandom(16).hex()
    return Serving(
        scenario,
        options.port,
        options.control_port,
        "127.0.0.1" if options.listen == "localhost" else options.listen,
        options.advertised_host,
        options.api_profile,
        options.data_dir,
        options.ready_file,
        token,
    )


def _check_numbers(options: ServeOptions) -> None:
    brokers = options.brokers
    if brokers is not None and not 1 <= brokers <= MOST_BROKERS:
        raise Trouble(f"--brokers {brokers} is out of range", f"write a number from 1 to {MOST_BROKERS}")
    for name, port in (("--port", options.port), ("--control-port", options.control_port)):
        if not 0 <= port <= 65535:
            raise Trouble(f"{name} {port} is not a port", "write a number from 0 to 65535; 0 takes any free port")
    where = options.data_dir
    if where is not None and where.exists() and not where.is_dir():
        raise Trouble(f"{where} is a file, and the logs need a directory", f"write {where}-data, or remove the file")


def _scenario(options: ServeOptions, origin: int) -> Scenario:
    from groupsim.serving.scenario import as_served, bare, with_topics

    if options.source is None:
        if options.settings:
            remedy = "name a scenario before the options; --broker KEY=VALUE changes a setting without one"
            raise Trouble(f"--set {options.settings[0]} changes a scenario, and none is given", remedy)
        try:
            scenario = bare(options.brokers or 3, _pairs(options.broker))
        except ValueError as error:
            raise Trouble(f"--broker: {error}") from None
    else:
        from groupsim.cli.scenario_source import load  # takes its time to import, and a bare cluster needs none of it

        properties = [f"broker.properties.{name}={value}" for name, value in _pairs(options.broker).items()]
        scenario = load(options.source, [*options.settings, *properties])
        if not options.members:
            scenario = evolve(scenario, groups={}, producers={}, timeline=())
    try:
        scenario = with_topics(scenario, [_topic(text) for text in options.topics])
    except ValueError as error:
        raise Trouble(str(error)) from None
    return as_served(scenario, origin, brokers=options.brokers)


def _pairs(texts: Sequence[str]) -> dict[str, str]:
    found = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or not name:
            raise Trouble(f"--broker {text}: not a setting", "write --broker group.initial.rebalance.delay.ms=0")
        found[name.strip()] = value.strip()
    return found


def _topic(text: str) -> Any:
    from groupsim.serving.scenario import TopicWish

    name, *numbers = text.split(":")
    if not name or len(numbers) > 2 or not all(one.isdecimal() and int(one) > 0 for one in numbers):
        raise Trouble(f"--topic {text}: not a topic", "write --topic orders:6, or --topic orders:6:3 with 3 replicas")
    return TopicWish(name, *map(int, numbers))


def _heed_signals(loop: RealTimeLoop, server: Any, log: Any) -> None:
    """Handle SIGINT and SIGTERM: the first stops the cluster in a controlled way, the second exits at once."""
    from groupsim.eventloop.signals import on_signals

    came: list[int] = []

    def on_signal(number: int) -> None:
        came.append(number)
        if len(came) == 1:
            log.info("stopping: parked requests are answered; a second signal exits at once")
            server.stop()
        else:
            server.give_up()
            os._exit(128 + number)

    # The loop restores this handler at its end. With the default handler a second SIGTERM would then end the process
    # with the wrong exit code.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    on_signals(loop, on_signal)


def _banner(about: Mapping[str, Any], options: ServeOptions, token: str | None, scenario: Scenario) -> None:
    """Print the addresses of the listeners on stdout."""
    what = f"scenario {scenario.name}" if options.source else "a cluster without topics; a request for one creates it"
    lines = [f"groupsim serves {what}", ""]
    lines += [f"  broker {node}      {address}" for node, address in about["listeners"].items()]
    lines += ["", f"  bootstrap     {about['bootstrap']}", f"  control       {about['control']}  (docs: /openapi.json)"]
    if token is not None:
        lines.append(f"  token         {token}")
    lines += [f"  versions      those of Kafka {about['api_profile']}", f"  cluster id    {about['cluster_id']}"]
    if scenario.groups:
        lines.append(f"  simulated     {_simulated(scenario)}")
    header = f' -H "Authorization: Bearer {token}"' if token is not None else ""
    lines += ["", "try:", f"  curl{header} {shlex.quote(about['control'] + '/cluster')}"]
    first = about["bootstrap"].split(",")[0]
    topic = next(iter(scenario.topics), "orders")
    lines += [f"  kafka-console-consumer.sh --bootstrap-server {first} --topic {topic} --group g1", ""]
    print(visible("\n".join([*lines, "ctrl-C stops it."])), flush=True)


def _simulated(scenario: Scenario) -> str:
    groups = ", ".join(
        f"{sum(m.count for m in spec.members.values())} in {name}" for name, spec in scenario.groups.items()
    )
    return f"members: {groups} (--without-members leaves them out)"
