"""The pytest plugin: the fixture `sim`, a simulated cluster in virtual time; `kafka_lab`, a served one in real time.

    async def test_a_stale_commit_is_refused(sim):
        sim.topic("orders", 2)
        member = sim.member("c1")
        await sim.stable("g1", members=1)
        answer = await sim.request(OffsetCommitRequest("g1", offsets, generation_id=7, member_id=member.member_id))
        assert answer.error is ErrorCode.ILLEGAL_GENERATION

A test that asks for `sim` and is an async function is run by the event loop's own runner, in virtual time, whatever
pytest-trio, pytest-asyncio (`asyncio_mode = auto`) or anyio's plugin would do with it, and so are its async fixtures
that have to do with `sim` (`async_fixtures`); everything else is left alone. A
failing test shows the story so far and the last events.

`@pytest.mark.sim(seed=3, brokers=3, broker={"group.initial.rebalance.delay.ms": 0})` says how the cluster is made;
`--sim-seed` sets the seed of all tests that do not say. `seeds=20` runs a test with twenty seeds, `--sim-seeds 20` all
that do not say. Brokers keep logs; with `logs="counted"` they are numbers, and many runs cost less.

The fixture `kafka_lab` is a cluster in real time, for real clients (docs/serving.md): `groupsim serve` in a process of
its own, with `.bootstrap` for the clients and `.control` for faults. `@pytest.mark.kafka_lab(topics={"orders": 4})`
says how it is made; `kafka_labs(…)` makes as many as a test wants. With `share="module"` or `share="session"` tests
that say the same have one cluster between them, which ends with the module or the session.

Nothing of the simulator is imported before a test asks for it.
"""

from __future__ import annotations

import inspect
from argparse import ArgumentTypeError
from collections.abc import Generator, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from groupsim.control import Served
    from groupsim.testing.live_fixture import Labs
    from groupsim.testing.simulation import Simulation

FIXTURE, SEED = "sim", "sim_seed"
LAB, LABS = "kafka_lab", "kafka_labs"
_OURS = pytest.StashKey[bool]()
#: What the marker `kafka_lab` takes: the arguments of `testing.live_fixture.Labs`, and whom a cluster is shared by.
LAB_TAKES = ("scenario", "brokers", "topics", "broker", "options", "share")
_SHARED = pytest.StashKey["dict[str, Labs]"]()
_SHOWN = pytest.StashKey["Labs"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Two options: the seed, and how many."""
    group = parser.getgroup("groupsim")
    group.addoption("--sim-seed", type=int, default=0, metavar="N", help="seed of the `sim` fixture (default 0)")
    group.addoption(
        "--sim-seeds",
        type=_count,
        metavar="N",
        help="run each test with `sim` that names no seed with so many",
    )


def _count(text: str) -> int:
    """A number of runs; none would be a test that is skipped in silence."""
    number = int(text)
    if number < 1:
        raise ArgumentTypeError(f"{number} runs: write 1 or more")
    return number


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers."""
    _leave_asserts_alone(config)
    config.addinivalue_line(
        "markers",
        "sim(seed=0, seeds=1, brokers=1, broker={}, logs='replicated', **cluster): how `sim` makes its cluster; "
        "seeds: run with so many, or with these",
    )
    config.addinivalue_line(
        "markers",
        "kafka_lab(scenario=None, brokers=3, topics={}, broker={}, options=(), share='test'): how `kafka_lab` is made, "
        "and whether tests share it: share='module', share='session'",
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


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test with several seeds where its marker, or else the command line, asks for them."""
    if SEED not in metafunc.fixturenames or _param_names(metafunc.definition) & {SEED}:
        return
    said = _seeds_said(metafunc.definition)
    many = metafunc.config.getoption("--sim-seeds")
    if "seeds" in said:
        seeds = _listed(said["seeds"])
    elif many is not None and "seed" not in said:
        first = metafunc.config.getoption("--sim-seed")
        seeds = list(range(first, first + many))
    else:
        return
    metafunc.parametrize(SEED, seeds, ids=[f"seed={seed}" for seed in seeds])


def _param_names(item: pytest.Item) -> set[str]:
    """The names that marks of a test parametrise."""
    names: set[str] = set()
    for mark in item.iter_markers("parametrize"):
        said = mark.args[0] if mark.args else mark.kwargs.get("argnames", ())
        names.update(name.strip() for name in said.split(",")) if isinstance(said, str) else names.update(said)
    return names


def _seeds_said(item: pytest.Item) -> dict[str, Any]:
    """`seed` or `seeds` of the nearest marker that says one of them; empty when none does."""
    for marker in item.iter_markers(FIXTURE):
        said = {name: marker.kwargs[name] for name in ("seeds", "seed") if name in marker.kwargs}
        if said:
            return said
    return {}


def _listed(seeds: Any) -> list[int]:
    """So many seeds from 0 on, or these."""
    found = list(range(seeds)) if isinstance(seeds, int) else list(seeds) if isinstance(seeds, Iterable) else []
    if not found or not all(isinstance(seed, int) for seed in found):
        pytest.fail(
            f"@pytest.mark.sim: seeds={seeds!r}: write how many, or which: seeds=20, seeds=[3, 7]", pytrace=False
        )
    return found


@pytest.fixture
def sim_seed(request: pytest.FixtureRequest) -> int:
    """The seed that `sim` runs with: its marker's, or that of the command line."""
    seed: int = _seeds_said(request.node).get("seed", request.config.getoption("--sim-seed"))
    return seed


@pytest.fixture
def sim(request: pytest.FixtureRequest, sim_seed: int) -> Generator[Simulation]:
    """A simulated cluster in virtual time (`groupsim.Simulation`)."""
    from groupsim.testing.simulation import OWN, Simulation
    from groupsim.testing.unused_faults import warn_of_unstruck

    said = _marked(request.node, FIXTURE) | {"seed": sim_seed}
    said.pop("seeds", None)
    said |= getattr(request, "param", {})  # parametrize("sim", [{"seed": 1}, …], indirect=True)
    own = {name: said.pop(name) for name in OWN if name in said}
    try:
        simulation = Simulation(**own, config=said)
    except (ValueError, TypeError) as error:
        problem = str(error)
    else:
        simulation.on_failure = _report
        yield simulation
        simulation.complain()
        if simulation.at_failure is None:
            warn_of_unstruck(simulation.faults)
        return
    pytest.fail(f"@pytest.mark.sim: {problem}", pytrace=False)  # out of `except`: told once


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
def groupsim_mutant(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put back the bug that this run of a test is for (`groupsim.testing.caught`)."""
    if request.param is not None:
        request.param(monkeypatch)


@pytest.fixture
def kafka_labs() -> Generator[Labs]:
    """Makes served clusters (`groupsim.testing.live_fixture.Labs`); they end with the test."""
    from groupsim.testing.live_fixture import Labs

    labs = Labs()
    try:
        yield labs
    finally:
        labs.stop()


@pytest.fixture
def kafka_lab(request: pytest.FixtureRequest, kafka_labs: Labs) -> Served:
    """A served cluster for real clients: `.bootstrap`, `.control`."""
    from groupsim.control.process import ServeFailed
    from groupsim.testing.names import only_known

    said = _marked(request.node, LAB, LAB_TAKES[:1])
    try:
        only_known(said, LAB_TAKES, "argument of a lab")
        labs = _labs_for(request.node, said.pop("share", "test"), said, kafka_labs)
        request.node.stash[_SHOWN] = labs
        return labs.started[0] if labs is not kafka_labs and labs.started else labs(**said)
    except (ValueError, ServeFailed) as error:
        problem = str(error)
    pytest.fail(f"@pytest.mark.kafka_lab: {problem}", pytrace=False)  # out of `except`: told once


def _labs_for(test: pytest.Item, share: str, said: dict[str, Any], own: Labs) -> Labs:
    """Return who makes the cluster of a test: its own fixture, or what tests of its module or session share.

    Shared clusters are kept by their settings, and end when their module or the session does. Raises ValueError for
    another `share`.
    """
    if share == "test":
        return own
    node = {"module": test.getparent(pytest.Module), "session": test.session}.get(share)
    if node is None:
        raise ValueError(f"share={share!r}: write share='module', share='session' or share='test'")
    from groupsim.testing.live_fixture import Labs

    shared = node.stash.setdefault(_SHARED, {})
    settings = repr(sorted(said.items()))
    if settings not in shared:
        shared[settings] = Labs()
        node.addfinalizer(shared[settings].stop)
    return shared[settings]


def _is_ours(item: pytest.Item) -> bool:
    if not isinstance(item, pytest.Function) or FIXTURE not in item.fixturenames:
        return False
    return inspect.iscoroutinefunction(item.obj)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Remember the async tests with `sim`; take back the marker that pytest-trio puts on each in `trio_mode`."""
    for item in items:
        if _is_ours(item):
            item.stash[_OURS] = True
            item.own_markers = [marker for marker in item.own_markers if marker.name != "trio"]


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
) -> Generator[None, object, object]:
    """Put off an async fixture that `sim` is an argument of, at first or second hand (`async_fixtures`)."""
    __tracebackhide__ = True
    if not request.node.stash.get(_OURS, False):
        return (yield)
    from groupsim.testing.async_fixtures import Later, is_async
    from groupsim.testing.simulation import Simulation

    make: Any = fixturedef.func
    arguments = (request.getfixturevalue(name) for name in fixturedef.argnames if name != "request")
    if not is_async(make) or not any(isinstance(one, Simulation | Later) for one in arguments):
        return (yield)
    if inspect.ismethod(make) and isinstance(request.instance, type(make.__self__)):
        make = make.__func__.__get__(request.instance)  # pytest may have made another object of the class since
    given, there = fixturedef.func, vars(fixturedef)
    there["func"] = lambda **said: Later(make, said)
    try:
        return (yield)
    finally:
        there["func"] = given


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Run an async test that has `sim` in virtual time, whatever other plugins would run it in.

    pytest-asyncio has put a function around it by now, and anyio's plugin looks for async ones: both are given a plain
    function instead, which runs the test.
    """
    __tracebackhide__ = True
    simulation: Any = pyfuncitem.funcargs.get(FIXTURE)
    if simulation is None or not pyfuncitem.stash.get(_OURS, False):
        return (yield)
    from groupsim.testing.async_fixtures import with_fixtures

    given = pyfuncitem.obj
    test = given if inspect.iscoroutinefunction(given) else inspect.unwrap(given, stop=inspect.iscoroutinefunction)

    def in_virtual_time(**arguments: Any) -> None:
        __tracebackhide__ = True
        simulation.drive(lambda: with_fixtures(test, arguments, pyfuncitem.funcargs))

    pyfuncitem.obj = in_virtual_time
    try:
        return (yield)
    finally:
        pyfuncitem.obj = given


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show the story of a test that failed."""
    report = yield
    simulation = getattr(item, "funcargs", {}).get(FIXTURE)
    if report.when == "call" and report.failed and simulation is not None and getattr(simulation, "events", None):
        report.sections.append(("groupsim: the story so far", _story(simulation)))
    labs = item.stash.get(_SHOWN, getattr(item, "funcargs", {}).get(LABS))
    if report.when == "call" and report.failed and labs is not None and labs.started:
        report.sections.append(("groupsim: what the coordinator saw", labs.story()))
    return report


def _story(simulation: Simulation) -> str:
    return simulation.at_failure or _report(simulation)


def _report(simulation: Simulation) -> str:
    from groupsim.testing.failure_report import failure_told

    return failure_told(simulation)
