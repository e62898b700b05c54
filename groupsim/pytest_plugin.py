"""The pytest plugin: the fixture `sim`, a simulated cluster in virtual time; `kafka_lab`, a served one in real time.

    async def test_a_stale_commit_is_refused(sim):
        sim.topic("orders", 2)
        member = sim.member("c1")
        await sim.stable("g1", members=1)
        answer = await sim.request(OffsetCommitRequest("g1", offsets, generation_id=7, member_id=member.member_id))
        assert answer.error is ErrorCode.ILLEGAL_GENERATION

A test that asks for `sim` and is an async function is run by the event loop's own runner, in virtual time; everything
else is left alone. With pytest-trio in `trio_mode` such tests lose its marker again, so that the two do not fight. A
failing test shows the story so far and the last events.

`@pytest.mark.sim(seed=3, brokers=3, broker={"group.initial.rebalance.delay.ms": 0})` says how the cluster is made;
`--sim-seed` sets the seed of all tests that do not say. Brokers keep logs; with `logs="counted"` they are numbers, and
many runs cost less.

The fixture `kafka_lab` is a cluster in real time, for real clients (docs/serving.md): `groupsim serve` in a process of
its own, with `.bootstrap` for the clients and `.control` for faults. `@pytest.mark.kafka_lab(topics={"orders": 4})`
says how it is made; `kafka_labs(…)` makes as many as a test wants.

Nothing of the simulator is imported before a test asks for it.
"""

from __future__ import annotations

import inspect
from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from groupsim.control import Served
    from groupsim.live_fixture import Labs
    from groupsim.simulation import Simulation

FIXTURE = "sim"
LAB, LABS = "kafka_lab", "kafka_labs"
#: What the marker `kafka_lab` takes: the arguments of `groupsim.live_fixture.Labs`.
LAB_TAKES = ("scenario", "brokers", "topics", "broker", "options")


def pytest_addoption(parser: pytest.Parser) -> None:
    """One option: the seed."""
    group = parser.getgroup("groupsim")
    group.addoption("--sim-seed", type=int, default=0, metavar="N", help="seed of the `sim` fixture (default 0)")


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers."""
    _leave_asserts_alone(config)
    config.addinivalue_line(
        "markers",
        "sim(seed=0, brokers=1, broker={}, logs='replicated', **cluster): how the `sim` fixture makes its cluster",
    )
    config.addinivalue_line(
        "markers", "kafka_lab(scenario=None, brokers=3, topics={}, broker={}, options=()): how `kafka_lab` is made"
    )


def _leave_asserts_alone(config: pytest.Config) -> None:
    """Take this package out of those whose assertions pytest rewrites.

    pytest puts there every module of whoever brings a plugin. Nothing here asserts for a test, and 400 modules cost two
    seconds wherever bytecode is not kept: in a fresh environment, in most containers. Without this name all is well,
    only slower.
    """
    names = getattr(config.pluginmanager.rewrite_hook, "_must_rewrite", None)
    if isinstance(names, set):
        names.discard("groupsim")


@pytest.fixture
def sim(request: pytest.FixtureRequest) -> Generator[Simulation]:
    """A simulated cluster in virtual time (`groupsim.Simulation`)."""
    from groupsim.simulation import OWN, Simulation

    said = {"seed": request.config.getoption("--sim-seed"), **_marked(request.node, FIXTURE)}
    said |= getattr(request, "param", {})  # parametrize("sim", [{"seed": 1}, …], indirect=True)
    own = {name: said.pop(name) for name in OWN if name in said}
    try:
        simulation = Simulation(**own, config=said)
    except (ValueError, TypeError) as problem:
        pytest.fail(f"@pytest.mark.sim: {problem}", pytrace=False)
    yield simulation
    simulation.complain()


def _marked(node: pytest.Item, name: str, positional: Sequence[str] = ()) -> dict[str, Any]:
    """What the markers of a test, its class and its module say together; the nearest one wins."""
    said: dict[str, Any] = {}
    for marker in reversed(list(node.iter_markers(name))):
        if len(marker.args) > len(positional):
            extra = ", ".join(map(repr, marker.args[len(positional) :]))
            pytest.fail(f"@pytest.mark.{name}({extra}): write the name before the value, as in seed=3", pytrace=False)
        said |= dict(zip(positional, marker.args, strict=False))
        said |= marker.kwargs
    return said


@pytest.fixture
def kafka_labs() -> Generator[Labs]:
    """Makes served clusters (`groupsim.live_fixture.Labs`); they end with the test."""
    from groupsim.live_fixture import Labs

    labs = Labs()
    try:
        yield labs
    finally:
        labs.stop()


@pytest.fixture
def kafka_lab(request: pytest.FixtureRequest, kafka_labs: Labs) -> Served:
    """A served cluster for real clients: `.bootstrap`, `.control`."""
    from groupsim.naming import only_known

    said = _marked(request.node, LAB, LAB_TAKES[:1])
    try:
        only_known(said, LAB_TAKES, "argument of a lab")
    except ValueError as problem:
        pytest.fail(f"@pytest.mark.kafka_lab: {problem}", pytrace=False)
    return kafka_labs(**said)


def _is_ours(item: pytest.Item) -> bool:
    if not isinstance(item, pytest.Function) or FIXTURE not in item.fixturenames:
        return False
    return inspect.iscoroutinefunction(item.obj)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Take back the marker that pytest-trio puts on every async test in `trio_mode`."""
    for item in items:
        if _is_ours(item):
            item.own_markers = [marker for marker in item.own_markers if marker.name != "trio"]


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run an async test that has `sim` in virtual time."""
    simulation: Any = pyfuncitem.funcargs.get(FIXTURE)
    if simulation is None or not _is_ours(pyfuncitem):
        return None
    names = pyfuncitem._fixtureinfo.argnames
    arguments = {name: pyfuncitem.funcargs[name] for name in names}
    simulation.drive(lambda: pyfuncitem.obj(**arguments))
    return True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show the story of a test that failed."""
    report = yield
    simulation = getattr(item, "funcargs", {}).get(FIXTURE)
    if report.when == "call" and report.failed and simulation is not None and getattr(simulation, "events", None):
        report.sections.append(("groupsim: the story so far", _story(simulation)))
    labs = getattr(item, "funcargs", {}).get(LABS)
    if report.when == "call" and report.failed and labs is not None and labs.started:
        report.sections.append(("groupsim: what the coordinator saw", labs.story()))
    return report


def _story(simulation: Simulation) -> str:
    from groupsim.failure_told import failure_told

    return simulation.at_failure or failure_told(simulation)
